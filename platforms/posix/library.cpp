#include "runtime/platform/library.h"

#include <dlfcn.h>

namespace lazyrt {

void* platform_open_library(const char* const* names) {
  for (; *names != nullptr; ++names) {
    if (void* library = dlopen(*names, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

void* platform_library_symbol(void* library, const char* name) { return dlsym(library, name); }

void platform_close_library(void* library) { dlclose(library); }

}  // namespace lazyrt
