#pragma once

#include <string>

#include "lazyrt/span.h"
#include "platforms/posix/lazy_run/failure.h"
#include "runtime/platform/platform.h"

namespace lazyrt::run {

/// A file's bytes as long as it lives.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const Status status = platform_map_file(path.c_str(), &file_);
    if (!status.ok()) throw Failure(ExitCode::kIo, status.message());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { platform_unmap_file(file_); }

  Span<const uint8_t> bytes() const { return {file_.data, file_.bytes}; }

 private:
  MappedFile file_;
};

}  // namespace lazyrt::run
