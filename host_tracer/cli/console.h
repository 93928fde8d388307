#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host_tracer/cli/exit_codes.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Reports a failed command and returns its exit code: on stderr `lazy-export: text`, and with
/// `json` also {"error": {"kind", "message", "exit_code"}} on stdout.
Exit fail(const Failure& failure, bool json);
/// The same with a given code; `details` are more keys of the JSON object.
Exit fail(const Failure& failure, Exit code, bool json,
          const nlohmann::ordered_json& details = nlohmann::ordered_json::object());

/// Prints the object and a newline on stdout. Text that is not UTF-8 is repaired, and characters
/// that a terminal acts on are escaped.
void print_json(const nlohmann::ordered_json& json);
/// Prints lines on stdout, escaped for a terminal.
void print_text(const std::string& text);

}  // namespace lazyrt
