#include "tests/conformance/expectations.h"

#include <fstream>
#include <sstream>

namespace lazyrt {

Expectations Expectations::read(const std::string& path, std::string* error) {
  Expectations out;
  std::ifstream file(path);
  if (!file) *error = path + ": cannot be read";
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string verdict, id, reason;
    words >> verdict >> id >> std::ws;
    std::getline(words, reason);
    const bool unsupported = verdict == "UNSUPPORTED";
    const bool valid = (unsupported || verdict == "XFAIL") && !reason.empty();
    const auto kind = unsupported ? Expectation::Kind::kUnsupported : Expectation::Kind::kFails;
    if (!valid || !out.lines_.emplace(id, Expectation{kind, reason}).second) {
      *error = path + ":" + std::to_string(number) +
               ": not 'UNSUPPORTED|XFAIL op/case reason', or given twice";
    }
  }
  return out;
}

Expectation Expectations::of(const std::string& case_id) const {
  const auto exact = lines_.find(case_id);
  if (exact != lines_.end()) return exact->second;
  for (const auto& [pattern, expectation] : lines_) {
    if (matches(pattern.c_str(), case_id.c_str())) return expectation;
  }
  return Expectation{};
}

bool Expectations::matches(const char* pattern, const char* case_id) {
  if (*pattern == '*') {
    return matches(pattern + 1, case_id) || (*case_id != '\0' && matches(pattern, case_id + 1));
  }
  return *pattern == *case_id && (*pattern == '\0' || matches(pattern + 1, case_id + 1));
}

}  // namespace lazyrt
