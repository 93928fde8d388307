#include "runtime/platform/platform.h"

#include <malloc.h>
#include <windows.h>

#include <cstdio>

#include "runtime/platform/files.h"

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

constexpr int kLongest = 1024;

bool widen(const char* path, wchar_t (&wide)[kLongest]) {
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, kLongest) != 0;
}
Status bad_path(const char* path) {
  return Status(Error::kIo, "cannot open '%s': not UTF-8, or longer than %d characters", path,
                kLongest - 1);
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
  *file = {};
  wchar_t wide[kLongest];
  if (!widen(path, wide)) return bad_path(path);
  HANDLE handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return system_error("open", path, GetLastError());
  const Status status = map_handle(handle, path, file);
  CloseHandle(handle);
  return status;
}

namespace {

/// 0, or the error's number.
DWORD write_all(HANDLE handle, const void* data, size_t bytes) {
  constexpr size_t kMost = size_t{1} << 30;
  const auto* p = static_cast<const uint8_t*>(data);
  while (bytes != 0) {
    DWORD written = 0;
    const auto piece = static_cast<DWORD>(bytes < kMost ? bytes : kMost);
    if (!WriteFile(handle, p, piece, &written, nullptr)) return GetLastError();
    p += written;
    bytes -= written;
  }
  return 0;
}

}  // namespace

Status platform_replace_file(const char* path, const void* data, size_t bytes) {
  wchar_t wide[kLongest], partial[kLongest];
  if (!widen(path, wide)) return bad_path(path);
  if (swprintf(partial, kLongest, L"%ls.%lx-%lx", wide, GetCurrentProcessId(),
               GetCurrentThreadId()) < 0)
    return bad_path(path);
  HANDLE handle = CreateFileW(partial, GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE)
    return system_error("write", path, GetLastError()).as(Error::kIo);
  DWORD error = write_all(handle, data, bytes);
  CloseHandle(handle);
  if (error == 0 && !MoveFileExW(partial, wide, MOVEFILE_REPLACE_EXISTING)) error = GetLastError();
  if (error == 0) return {};
  DeleteFileW(partial);
  return system_error("write", path, error).as(Error::kIo);
}

void platform_unmap_file(const MappedFile& file) {
  if (file.data != nullptr) UnmapViewOfFile(file.data);
}

// For pages that are not locked, this removes them from the working set.
void platform_pages_unneeded(const void* data, size_t bytes) {
  if (bytes != 0) VirtualUnlock(const_cast<void*>(data), bytes);
}

}  // namespace lazyrt
