#pragma once

// Findings that would fail an export and that the user lets through: by id, by id and line, or by a
// comment in the source. Free of LibTorch.

#include <string>
#include <vector>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// "id" (everywhere) or "id@file.py:line"; `file` is a file's name or the end of its path.
struct Allowance {
  std::string id;
  std::string file;
  int line = 0;
};

/// kInvalidArgument: names an entry that is not valid, or whose id no finding has.
Outcome<std::vector<Allowance>> parse_allowances(const std::vector<std::string>& texts);

/// Whether one of them names the finding, or a comment does, on its line of the source or alone on
/// the line above: `# lazyrt: allow baked-value, random` (in C++ `// lazyrt: allow ...`).
bool is_allowed(const Finding& finding, const std::vector<Allowance>& allowances);

/// Turns the errors that are let through into warnings marked `allowed`. May be called again when
/// more were found.
void allow_findings(Trace& trace, const std::vector<Allowance>& allowances);
/// The same with parse_allowances().
Outcome<Done> allow_findings(Trace& trace, const std::vector<std::string>& texts);

/// For the report: a line for each entry that let none of the findings through.
std::vector<std::string> idle_allowances(const std::vector<std::string>& texts,
                                         const std::vector<Finding>& findings);

}  // namespace lazyrt
