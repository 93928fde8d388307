#include "host_tracer/support/partial_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace lazyrt {
namespace {

Failure cannot_write(const std::string& path, int error) {
  return {Error::kIo, "cannot write " + path + ": " + std::strerror(error)};
}

}  // namespace

FileHandle open_new_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return nullptr;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  return file < 0 ? nullptr : FileHandle(fdopen(file, "wb"));
}

std::string PartialFile::path_for(const std::string& target) {
  return target + ".partial-" + std::to_string(getpid());
}

PartialFile::~PartialFile() { unlink(path_.c_str()); }

Outcome<Done> PartialFile::publish(const std::string& shown) {
  if (std::rename(path_.c_str(), target_.c_str()) == 0) return Done{};
  return cannot_write(shown.empty() ? target_ : shown, errno);
}

Outcome<Done> write_text_file(const std::string& path, const std::string& text) {
  PartialFile partial(path);
  FileHandle file = open_new_file(partial.path());
  if (file == nullptr) return cannot_write(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const int error = errno;
  if (std::fclose(file.release()) != 0 || !written)
    return cannot_write(path, written ? errno : error);
  return partial.publish();
}

}  // namespace lazyrt
