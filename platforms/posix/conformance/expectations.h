#pragma once

#include <map>
#include <string>

namespace lazyrt {

/// What the expectation file says about one case.
struct Expectation {
  enum class Kind { kPass, kUnsupported, kFails };
  Kind kind = Kind::kPass;
  std::string reason;
};

/// Lines "UNSUPPORTED <op>/<case> reason" and "XFAIL <op>/<case> reason"; '#' begins a comment. A
/// '*' in the case stands for any text: every case that the line matches must be as it says. Of
/// "XFAIL:<builds>" only the builds after the colon are spoken of: a processor (processor()), one
/// with or without XNNPACK ("x86_64+xnnpack", "x86_64+own"), or all such ("xnnpack", "own").
class Expectations {
 public:
  /// Sets *error to what is wrong with the file, with its line number; empty if nothing is.
  static Expectations read(const std::string& path, std::string* error);

  Expectation of(const std::string& case_id) const;
  /// Whether a line's pattern matches a case.
  static bool matches(const char* pattern, const char* case_id);

  const std::map<std::string, Expectation>& lines() const { return lines_; }
  /// What this program is compiled for, as `uname -m` calls it: "x86_64", "aarch64", ...
  static const char* processor();

 private:
  std::map<std::string, Expectation> lines_;
};

}  // namespace lazyrt
