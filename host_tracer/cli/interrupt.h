#pragma once

#include <string>

namespace lazyrt {

/// While one lives, SIGINT, SIGTERM and SIGHUP remove the file `path` (and what is being written
/// beside it) and end the process with 128 + the signal's number. At most eight at a time; made and
/// destroyed on one thread.
class RemoveOnInterrupt {
 public:
  explicit RemoveOnInterrupt(const std::string& path);
  ~RemoveOnInterrupt();
  RemoveOnInterrupt(const RemoveOnInterrupt&) = delete;
  RemoveOnInterrupt& operator=(const RemoveOnInterrupt&) = delete;

 private:
  int slot_ = -1;
};

}  // namespace lazyrt
