#include "runtime/platform/library.h"

#include <windows.h>

namespace lazyrt {

void* platform_open_library(const char* const* names) {
  for (; *names != nullptr; ++names) {
    if (HMODULE library = LoadLibraryA(*names)) return library;
  }
  return nullptr;
}

void* platform_library_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void platform_close_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

}  // namespace lazyrt
