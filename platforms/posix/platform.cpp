#include "runtime/platform/platform.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "runtime/platform/files.h"

namespace lazyrt {

void* platform_allocate(size_t bytes, size_t alignment) {
  void* pointer = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return posix_memalign(&pointer, alignment, bytes == 0 ? 1 : bytes) == 0 ? pointer : nullptr;
}

void platform_release(void* pointer) { free(pointer); }

uint64_t platform_ticks() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

bool platform_has_ticks() { return true; }

namespace {

Status system_error(const char* what, const char* path, int error) {
  const Error kind = error == ENOENT || error == ENOTDIR ? Error::kNotFound : Error::kIo;
  return Status(kind, "cannot %s '%s': %s", what, path, strerror(error));
}

Status map_descriptor(int fd, const char* path, MappedFile* file) {
  struct stat info;
  if (fstat(fd, &info) != 0) return system_error("read", path, errno);
  if (!S_ISREG(info.st_mode)) return Status(Error::kIo, "'%s' is not a regular file", path);
  if (info.st_size == 0) return {};
  const auto bytes = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return system_error("map", path, errno);
  *file = {static_cast<const uint8_t*>(data), bytes};
  return {};
}

}  // namespace

Status platform_map_file(const char* path, MappedFile* file) {
  *file = {};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return system_error("open", path, errno);
  const Status status = map_descriptor(fd, path, file);
  close(fd);
  return status;
}

namespace {

/// 0, or the error's number.
int write_all(int fd, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  while (bytes != 0) {
    const ssize_t written = write(fd, p, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    p += written;
    bytes -= static_cast<size_t>(written);
  }
  return 0;
}

}  // namespace

Status platform_replace_file(const char* path, const void* data, size_t bytes) {
  constexpr size_t kLongest = 1024;
  char partial[kLongest];
  const int length = snprintf(partial, sizeof(partial), "%s.XXXXXX", path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(partial))
    return Status(Error::kIo, "cannot write '%s': its name is too long", path);
  const int fd = mkstemp(partial);
  if (fd < 0) return system_error("write", path, errno).as(Error::kIo);
  int error = write_all(fd, data, bytes);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(partial, path) != 0) error = errno;
  if (error == 0) return {};
  unlink(partial);
  return system_error("write", path, error).as(Error::kIo);
}

void platform_unmap_file(const MappedFile& file) {
  if (file.data != nullptr) munmap(const_cast<uint8_t*>(file.data), file.bytes);
}

void platform_pages_unneeded(const void* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<uintptr_t>(data) + bytes) & ~(page - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace lazyrt
