#include "host_tracer/frontends/shared/clone_in_place.h"

#include <ATen/ATen.h>

namespace lazyrt {

at::Tensor clone_in_place(const at::Tensor& tensor) {
  const at::Tensor t = tensor.detach();
  if (t.layout() != at::kStrided || t.numel() == 0) return t.clone();
  const size_t bytes = t.storage().nbytes(), own = t.nbytes();
  if (t.is_contiguous() && bytes == own) return t.clone();
  constexpr size_t kMostAround = size_t{16} << 20;
  if (bytes > 16 * own && bytes > kMostAround) {
    at::Tensor made = at::empty_strided(t.sizes(), t.strides(), t.options());
    return made.copy_(t);
  }
  const auto count = static_cast<int64_t>(bytes / t.element_size());
  const at::Tensor whole = at::empty({0}, t.options()).set_(t.storage(), 0, {count}, {1}).clone();
  return at::empty({0}, t.options())
      .set_(whole.storage(), t.storage_offset(), t.sizes(), t.strides());
}

}  // namespace lazyrt
