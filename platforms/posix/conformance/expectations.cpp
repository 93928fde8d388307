#include "platforms/posix/conformance/expectations.h"

#include <fstream>
#include <sstream>

namespace lazyrt {
namespace {

/// `named` is a list between commas: ",x86_64,aarch64+xnnpack,".
bool names_this_build(const std::string& named) {
  const std::string processor = Expectations::processor();
  const std::string build = processor + (LAZYRT_HAS_XNNPACK ? "+xnnpack" : "+own");
  return named.find("," + processor + ",") != named.npos ||
         named.find("," + build + ",") != named.npos ||
         named.find(LAZYRT_HAS_XNNPACK ? ",xnnpack," : ",own,") != named.npos;
}

}  // namespace

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
    const size_t colon = verdict.find(':');
    const std::string named =
        "," + verdict.substr(colon == std::string::npos ? 0 : colon + 1) + ",";
    if (colon != std::string::npos && !names_this_build(named)) continue;
    verdict = verdict.substr(0, colon);
    const bool unsupported = verdict == "UNSUPPORTED";
    const bool valid = (unsupported || verdict == "XFAIL") && !reason.empty();
    const auto kind = unsupported ? Expectation::Kind::kUnsupported : Expectation::Kind::kFails;
    if (!valid || !out.lines_.emplace(id, Expectation{kind, reason}).second) {
      *error = path + ":" + std::to_string(number) +
               ": not 'UNSUPPORTED|XFAIL[:build,...] op/case reason', or given twice";
    }
  }
  return out;
}

const char* Expectations::processor() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "armv7l";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
  return "unknown";
#endif
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
