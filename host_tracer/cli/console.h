#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host_tracer/cli/exit_codes.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Tells of a failed command and answers its exit code: on stderr `lazy-export: text`, and
/// with `json` {"error": {"kind", "message", "exit_code"}} on stdout as well.
Exit fail(const Failure& failure, bool json);
/// The same with a code of its own; `details` are more keys of the JSON object.
Exit fail(const Failure& failure, Exit code, bool json,
          const nlohmann::ordered_json& details = nlohmann::ordered_json::object());

/// Prints the object and a newline on stdout; text that is not UTF-8 is repaired, and no character
/// in it reaches a terminal that acts on it.
void print_json(const nlohmann::ordered_json& json);
/// Prints lines on stdout, escaped for a terminal.
void print_text(const std::string& text);

}  // namespace lazyrt
