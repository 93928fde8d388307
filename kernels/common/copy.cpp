#include "kernels/common/copy.h"

#include <cstring>

#include "kernels/common/element.h"

namespace lazyrt {
namespace {

template <class T>
void copy_row(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t count) {
  if (dst_step == 1 && src_step == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) dst[i * dst_step] = src[i * src_step];
}

}  // namespace

void copy_strided(size_t element_bytes, const Shape& shape, void* dst, const Strides& dst_strides,
                  const void* src, const Strides& src_strides) {
  const LoopNest<2> loops(shape, {dst_strides, src_strides});
  (void)visit_element_size(element_bytes, [&](auto type) {
    using T = typename decltype(type)::type;
    loops.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
      copy_row(static_cast<T*>(dst) + offset[0], step[0], static_cast<const T*>(src) + offset[1],
               step[1], count);
    });
    return Fault();
  });
}

void copy_bytes(void* dst, const void* src, size_t bytes) {
  if (bytes > 0 && dst != src) std::memmove(dst, src, bytes);
}

}  // namespace lazyrt
