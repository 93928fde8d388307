// Embedding look-up and index_select: rows copied on all threads after all ids were checked.

#include <cstring>

#include "kernels/common/strides.h"
#include "kernels/gather/index_check.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel index_select_cpu;

namespace {

Fault run(void*, const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& ids = context.inputs[1];
  const auto& a = context.attrs.as<fb::IndexSelect>();
  const AxisView v = axis_view(x.shape, a.axis());
  const int64_t low = a.from_end() ? -v.extent : 0;
  LAZYRT_RETURN_IF_ERROR(check_indices("index_select", ids, low, v.extent));
  const size_t bytes = static_cast<size_t>(v.inner) * dtype_size(x.dtype);
  const auto count = static_cast<size_t>(ids.numel());
  if (bytes == 0 || count == 0) return {};
  const char* in = x.as<const char>();
  char* y = context.outputs[0].as<char>();
  const auto extent = static_cast<size_t>(v.extent);
  parallel_for(cpu_services(context), static_cast<size_t>(v.outer) * count, grain_of(bytes / 4 + 8),
               [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   const int64_t id = index_at(ids, static_cast<int64_t>(i % count));
                   const auto row = static_cast<size_t>(id < 0 ? id + v.extent : id);
                   std::memcpy(y + i * bytes, in + (i / count * extent + row) * bytes, bytes);
                 }
               });
  return {};
}

}  // namespace

const Kernel index_select_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
