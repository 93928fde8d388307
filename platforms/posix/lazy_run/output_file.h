#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

namespace lazyrt::run {

/// A file that is created or replaced by commit, all or nothing; a pipe, a device or what a
/// symbolic link points to is written in place. What is not committed is removed. Throws Failures
/// that name the path.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* data, size_t bytes);
  /// For printing; commit reports errors.
  std::FILE* stream() const { return file_.get(); }
  /// REQUIRES: called once, nothing is written afterwards.
  void commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void create_partial();
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  std::string partial_;  ///< beside path_, to be renamed; empty: written in place
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace lazyrt::run
