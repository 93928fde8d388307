#include "kernels/common/copy_rows.h"

#include <cstring>

#include "kernels/common/element.h"

namespace lazyrt {
namespace {

template <class T>
void copy_row(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t n) {
  if (dst_step == 1 && src_step == 0) {
    const T value = *src;
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else if (dst_step == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * src_step];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = src[i * src_step];
  }
}

}  // namespace

void copy_rows(size_t element_bytes, const LoopNest<2>& loops, int64_t first, int64_t last,
               void* dst, const void* src) {
  (void)visit_element_size(element_bytes, [&](auto type) {
    using T = typename decltype(type)::type;
    loops.for_rows(first, last, [&](const int64_t* offset, int64_t count, const int64_t* step) {
      T* to = static_cast<T*>(dst) + offset[0];
      const T* from = static_cast<const T*>(src) + offset[1];
      if (step[0] == 1 && step[1] == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      } else {
        copy_row(to, step[0], from, step[1], count);
      }
    });
    return Fault();
  });
}

}  // namespace lazyrt
