// Constant padding (and cropping): the border is filled, the inside copied, on all threads.

#include <cstring>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/parallel_copy_cpu.h"

namespace lazyrt {

extern const Kernel pad_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  if (node.attrs.as<fb::Pad>().mode() == fb::PadMode::Constant) return {};
  return Fault(Error::kUnsupported, "pad: only constant padding");
}

void fill(const CpuServices& cpu, const TensorView& y, double value) {
  (void)visit_dtype(AllTypes{}, y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const T element = convert<T>(value);
    T* out = y.as<T>();
    parallel_for(cpu, static_cast<size_t>(y.numel()), grain_of(1), [=](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out[i] = element;
    });
    return Fault();
  });
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::Pad>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const Strides from = row_major(x.shape);
  const Strides to = row_major(y.shape);
  const size_t bytes = dtype_size(y.dtype);
  Shape inside;
  int64_t first_x = 0, first_y = 0;
  for (int i = 0; i < x.shape.rank(); ++i) {
    const int64_t before = a.before()->Get(static_cast<unsigned>(i));
    const int64_t after = a.after()->Get(static_cast<unsigned>(i));
    first_x += before < 0 ? -before * from[i] : 0;
    first_y += before > 0 ? before * to[i] : 0;
    inside.append(x.shape[i] + (before < 0 ? before : 0) + (after < 0 ? after : 0));
    if (inside[i] < 0) inside[i] = 0;
  }
  if (inside != y.shape) fill(cpu, y, a.value());
  if (inside.numel() == 0) return {};
  const void* source = x.data;
  parallel_copy(cpu, bytes, inside, element_at(y.data, first_y, bytes), to,
                element_at(source, first_x, bytes), from);
  return {};
}

}  // namespace

const Kernel pad_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
