#include "runtime/platform/platform.h"

#include <malloc.h>
#include <windows.h>

namespace lazyrt {

void* platform_allocate(size_t bytes, size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return _aligned_malloc(bytes == 0 ? 1 : bytes, alignment);
}

void platform_release(void* pointer) { _aligned_free(pointer); }

uint64_t platform_ticks() {
  constexpr uint64_t kNanoseconds = 1000000000u;
  LARGE_INTEGER frequency, count;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&count);
  const auto of_a_second = static_cast<uint64_t>(frequency.QuadPart);
  const auto ticks = static_cast<uint64_t>(count.QuadPart);
  return ticks / of_a_second * kNanoseconds + ticks % of_a_second * kNanoseconds / of_a_second;
}

bool platform_has_ticks() { return true; }

namespace {

Status system_error(const char* what, const char* path, DWORD error) {
  const bool missing =
      error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND || error == ERROR_INVALID_NAME;
  char text[256] = "";
  const DWORD length = FormatMessageA(
      FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK,
      nullptr, error, 0, text, sizeof(text), nullptr);
  if (length == 0) {
    return Status(missing ? Error::kNotFound : Error::kIo, "cannot %s '%s': error %lu", what, path,
                  error);
  }
  return Status(missing ? Error::kNotFound : Error::kIo, "cannot %s '%s': %s", what, path, text);
}

Status map_handle(HANDLE handle, const char* path, MappedFile* file) {
  LARGE_INTEGER size;
  if (GetFileType(handle) != FILE_TYPE_DISK) {
    return Status(Error::kIo, "'%s' is not a regular file", path);
  }
  if (!GetFileSizeEx(handle, &size)) return system_error("read", path, GetLastError());
  if (size.QuadPart == 0) return {};
  if (static_cast<uint64_t>(size.QuadPart) > SIZE_MAX) {
    return Status(Error::kIo, "'%s' is too large to map", path);
  }
  HANDLE mapping = CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return system_error("map", path, GetLastError());
  const void* data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  const DWORD error = GetLastError();
  CloseHandle(mapping);  // the view keeps it
  if (data == nullptr) return system_error("map", path, error);
  *file = {static_cast<const uint8_t*>(data), static_cast<size_t>(size.QuadPart)};
  return {};
}

}  // namespace

/// `path` is UTF-8.
Status platform_map_file(const char* path, MappedFile* file) {
  constexpr int kLongest = 1024;
  *file = {};
  wchar_t wide[kLongest];
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, kLongest) == 0) {
    return Status(Error::kIo, "cannot open '%s': not UTF-8, or longer than %d characters", path,
                  kLongest - 1);
  }
  HANDLE handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return system_error("open", path, GetLastError());
  const Status status = map_handle(handle, path, file);
  CloseHandle(handle);
  return status;
}

void platform_unmap_file(const MappedFile& file) {
  if (file.data != nullptr) UnmapViewOfFile(file.data);
}

// Of pages that are not locked this takes them out of the working set.
void platform_pages_unneeded(const void* data, size_t bytes) {
  if (bytes != 0) VirtualUnlock(const_cast<void*>(data), bytes);
}

}  // namespace lazyrt
