#pragma once

// A finished bundle, opened once: what the check runs is what the report describes.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "host_tracer/support/outcome.h"
#include "lazyrt/runtime.h"
#include "runtime/bundle/reader.h"
#include "runtime/platform/platform.h"

namespace lazyrt {

class LoadedBundle {
 public:
  /// Maps and verifies the file, which may be removed afterwards; its sessions pack weights once.
  /// kNotFound, kInvalidBundle, kVersion, kUnsupported, kIo: as Program::open, with the path.
  static Outcome<std::unique_ptr<LoadedBundle>> open(const std::string& path);

  const std::string& path() const { return path_; }
  const Program& program() const { return *program_; }
  const BundleSections& sections() const { return sections_; }
  Span<const uint8_t> bytes() const { return {mapping_.file.data, mapping_.file.bytes}; }

 private:
  struct Mapping {
    MappedFile file;
    ~Mapping() { platform_unmap_file(file); }
  };

  explicit LoadedBundle(std::string path) : path_(std::move(path)) {}
  Status load();

  std::string path_;
  Mapping mapping_;  ///< outlives the program
  std::optional<Program> program_;
  BundleSections sections_;
};

/// Names the file, unless the text does already.
Failure failure_of(const std::string& path, const Status& status);

}  // namespace lazyrt
