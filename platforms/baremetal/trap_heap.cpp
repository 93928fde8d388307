// A heap that must not be used: any allocation ends the program.

#include <cstdlib>
#include <new>

#include "platforms/baremetal/semihosting.h"

namespace {

[[noreturn]] void trap() {
  lazyrt::semihosting::write("the heap was used\n");
  lazyrt::semihosting::end_program(71);
}

}  // namespace

extern "C" {

struct _reent;

void* malloc(size_t) { trap(); }
void* calloc(size_t, size_t) { trap(); }
void* realloc(void*, size_t) { trap(); }
void* memalign(size_t, size_t) { trap(); }
void* aligned_alloc(size_t, size_t) { trap(); }
void free(void* pointer) {
  if (pointer != nullptr) trap();
}
void* _malloc_r(_reent*, size_t) { trap(); }
void* _calloc_r(_reent*, size_t, size_t) { trap(); }
void* _realloc_r(_reent*, void*, size_t) { trap(); }
void _free_r(_reent*, void* pointer) {
  if (pointer != nullptr) trap();
}
void* _sbrk(ptrdiff_t) { trap(); }

}  // extern "C"

void* operator new(size_t) { trap(); }
void* operator new[](size_t) { trap(); }
void* operator new(size_t, std::align_val_t) { trap(); }
void operator delete(void* pointer) noexcept { free(pointer); }
void operator delete[](void* pointer) noexcept { free(pointer); }
void operator delete(void* pointer, size_t) noexcept { free(pointer); }
void operator delete[](void* pointer, size_t) noexcept { free(pointer); }
