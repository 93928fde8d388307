// Padding on all threads. Constant padding (and cropping): fills the border and copies the inside.
// Padding with x's own elements: line by line along the innermost padded dim.

#include <cstring>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/parallel_copy_cpu.h"
#include "kernels/pad/pad_source.h"

namespace lazyrt {

extern const Kernel pad_cpu;

namespace {

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

Fault pad_by_value(const RunContext& context) {
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

/// Padding with x's own elements, line by line. A line runs along the innermost padded dim; each of
/// its positions is a block of all elements in the dims behind it.
class Lines {
 public:
  explicit Lines(const RunContext& context)
      : mode_(context.attrs.as<fb::Pad>().mode()),
        x_(context.inputs[0]),
        y_(context.outputs[0]),
        before_(attribute_list(context.attrs.as<fb::Pad>().before())),
        x_strides_(row_major(x_.shape)),
        dim_(innermost()),
        block_(static_cast<size_t>(x_strides_[dim_]) * dtype_size(y_.dtype)) {}

  size_t count() const {
    size_t count = 1;
    for (int i = 0; i < dim_; ++i) count *= static_cast<size_t>(y_.shape[i]);
    return count;
  }
  size_t bytes() const { return static_cast<size_t>(y_.shape[dim_]) * block_; }

  void write(size_t line) const {
    const auto* from = static_cast<const uint8_t*>(x_.data) + source_of(line);
    auto* to = static_cast<uint8_t*>(y_.data) + line * bytes();
    const int64_t extent = x_.shape[dim_], before = before_[dim_];
    write_blocks(-before, 0, extent, from, to);
    to += static_cast<size_t>(before) * block_;
    std::memcpy(to, from, static_cast<size_t>(extent) * block_);
    to += static_cast<size_t>(extent) * block_;
    write_blocks(extent, y_.shape[dim_] - before, extent, from, to);
  }

 private:
  int innermost() const {
    int dim = x_.shape.rank() - 1;
    while (dim > 0 && x_.shape[dim] == y_.shape[dim]) --dim;
    return dim;
  }

  /// Offset in bytes of the line of x that is the source of a line of y.
  size_t source_of(size_t line) const {
    int64_t offset = 0;
    for (int i = dim_ - 1; i >= 0; --i) {
      const auto extent = static_cast<size_t>(y_.shape[i]);
      const auto at = static_cast<int64_t>(line % extent);
      line /= extent;
      offset += pad_source(mode_, at - before_[i], x_.shape[i]) * x_strides_[i];
    }
    return static_cast<size_t>(offset) * dtype_size(y_.dtype);
  }

  void write_blocks(int64_t begin, int64_t end, int64_t extent, const uint8_t* from,
                    uint8_t* to) const {
    for (int64_t i = begin; i < end; ++i, to += block_)
      std::memcpy(to, from + static_cast<size_t>(pad_source(mode_, i, extent)) * block_, block_);
  }

  fb::PadMode mode_;
  const TensorView& x_;
  const TensorView& y_;
  Shape before_;
  Strides x_strides_;
  int dim_;       ///< the innermost that is padded
  size_t block_;  ///< bytes
};

Fault run(void*, const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const bool by_value = context.attrs.as<fb::Pad>().mode() == fb::PadMode::Constant;
  if (by_value || x.shape == y.shape) return pad_by_value(context);
  if (y.numel() == 0) return {};
  const Lines lines(context);
  parallel_for(cpu_services(context), lines.count(), grain_of(lines.bytes() / 8 + 8),
               [&](size_t begin, size_t end) {
                 for (size_t line = begin; line < end; ++line) lines.write(line);
               });
  return {};
}

}  // namespace

const Kernel pad_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
