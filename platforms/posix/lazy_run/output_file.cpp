#include "platforms/posix/lazy_run/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {
namespace {

/// A pipe, a device, or a link (such as /dev/stdout) is never replaced.
bool is_replaceable(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (is_replaceable(path)) {
    create_partial();
  } else {
    file_.reset(std::fopen(path.c_str(), "wb"));
  }
  if (file_ == nullptr) fail("create");
}

OutputFile::~OutputFile() {
  file_.reset();
  if (!partial_.empty()) std::remove(partial_.c_str());
}

/// Uses a name that nobody can have prepared, and "x": in a folder that others may write to, their
/// links are never followed and their files never used.
void OutputFile::create_partial() {
  std::random_device random;
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = path_ + ".partial-" + std::to_string(random());
    file_.reset(std::fopen(name.c_str(), "wbx"));
    if (file_ != nullptr) partial_ = name;
    if (file_ != nullptr || errno != EEXIST) return;
  }
}

void OutputFile::write(const void* data, size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes) fail("write");
}

void OutputFile::commit() {
  if (std::ferror(file_.get()) != 0) fail("write");
  if (std::fclose(file_.release()) != 0) fail("write");
  if (partial_.empty()) return;
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) throw Failure(ExitCode::kIo, "cannot replace '" + path_ + "': " + error.message());
  partial_.clear();
}

void OutputFile::fail(const char* what) const {
  throw Failure(ExitCode::kIo,
                std::string("cannot ") + what + " '" + path_ + "': " + std::strerror(errno));
}

}  // namespace lazyrt::run
