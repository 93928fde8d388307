#pragma once

// Libraries that are looked up at run time. Implemented once for each operating system in
// platforms/<os>; a system without shared libraries has no file for it.

namespace lazyrt {

/// Opens the first of these libraries that the system finds; nullptr: there is none. Names end with
/// a nullptr.
void* platform_open_library(const char* const* names);
/// The address of a function in it, or nullptr.
void* platform_library_symbol(void* library, const char* name);
/// REQUIRES: nothing of it is in use.
void platform_close_library(void* library);

}  // namespace lazyrt
