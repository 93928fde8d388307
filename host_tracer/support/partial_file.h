#pragma once

// A file that appears under its name only when it is complete.

#include <cstdio>
#include <memory>
#include <string>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

/// Opens a new, empty file for writing and removes the old file of that name, but never writes
/// through a link: in a folder that others can write to, any name may be a prepared link. nullptr:
/// errno says why.
FileHandle open_new_file(const std::string& path);

/// What is written beside `target` and moved there at the end; removed if it was not moved.
class PartialFile {
 public:
  explicit PartialFile(const std::string& target) : path_(path_for(target)), target_(target) {}
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// The name of the partial file of `target`, which this process has for itself.
  static std::string path_for(const std::string& target);

  const std::string& path() const { return path_; }
  /// Moves it to its target. kIo names `shown`, the target if it is empty, and the reason.
  Outcome<Done> publish(const std::string& shown = "");

 private:
  const std::string path_;
  const std::string target_;
};

/// Writes `text` to the file, all or nothing. kIo names the file and the reason.
Outcome<Done> write_text_file(const std::string& path, const std::string& text);

}  // namespace lazyrt
