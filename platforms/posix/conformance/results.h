#pragma once

// The results of the cases, and how they are printed: as a table, as JUnit's XML, as JSON.

#include <string>
#include <vector>

#include "platforms/posix/conformance/case_runner.h"
#include "platforms/posix/conformance/expectations.h"

namespace lazyrt::conformance {

enum class Verdict : uint8_t {
  kOk,
  kExpected,  ///< failed or was not supported, as an expectation file says
  kFailed,
  kStale,  ///< passed, or failed otherwise than the file says: its line must go
};

struct Row {
  const Case* c = nullptr;
  const char* backend = "";
  Outcome outcome;
  Verdict verdict = Verdict::kOk;
  std::string reason;  ///< of the expectation

  bool good() const { return verdict == Verdict::kOk || verdict == Verdict::kExpected; }
};

/// The row for an outcome, if `expected` is what an expectation file says.
Row judged(const Case& c, const char* backend, Outcome outcome, const Expectation& expected);

/// One line for people, without an end of line.
std::string table_line(const Row& row);
/// "3260 passed, 4 failed as expected, 0 failed".
std::string summary(const std::vector<Row>& rows);
std::string junit_xml(const std::vector<Row>& rows);
/// With the machine that it was run on.
std::string json_text(const std::vector<Row>& rows, int threads);

}  // namespace lazyrt::conformance
