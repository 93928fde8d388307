// The k largest or smallest elements along an axis, with their indices, sorted unless that is not
// asked for. NaN counts as the largest; of equal elements the lower index comes first.

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"
#include "kernels/topk/select.h"

namespace lazyrt {

extern const OpDef top_k_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("top_k", top_k_op, in, out));
  const auto& a = attrs.as<fb::TopK>();
  LAZYRT_RETURN_IF_ERROR(check_dtype("top_k", "x", in[0], kNumberTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("top_k", a.axis(), in[0].shape.rank()));
  LAZYRT_RETURN_IF_ERROR(check_range("top_k", "k", a.k(), 0, in[0].shape[a.axis()]));
  Shape shape = in[0].shape;
  shape[a.axis()] = a.k();
  LAZYRT_RETURN_IF_ERROR(set_output("top_k", &out[0], in[0].dtype, shape));
  return set_output("top_k", &out[1], DType::kInt64, shape);
}

/// A heap of k over each row.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  int levels = 2;
  for (int64_t k = attrs.as<fb::TopK>().k(); k > 1; k /= 2) ++levels;
  return volume(in[0].shape) * Work(levels) + work_by_size(attrs, in, out);
}

/// The workspace is a list of the indices of one row.
Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const Shape& x = context.node.inputs[0].shape;
  if (x.numel() == 0) return Fault();
  const int64_t extent = x[context.node.attrs.as<fb::TopK>().axis()];
  prepared->workspace_bytes = static_cast<size_t>(extent) * sizeof(int64_t);
  return Fault();
}

template <class T>
bool greater(T a, T b) {
  return is_nan(a) ? !is_nan(b) : a > b;
}

/// Without `sorted` ATen sorts as well where few are wanted (TopKImpl.h).
constexpr int64_t kFew = 64;

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::TopK>();
  const AxisView v = axis_view(context.inputs[0].shape, a.axis());
  auto* order = static_cast<int64_t*>(context.workspace);
  for (int64_t row = 0; row < v.outer * v.inner; ++row) {
    const int64_t outer = row / v.inner, inner = row % v.inner;
    const T* x = context.inputs[0].as<const T>() + outer * v.extent * v.inner + inner;
    const int64_t first = outer * a.k() * v.inner + inner;
    const auto precedes = [&](int64_t i, int64_t j) {
      const T left = x[i * v.inner], right = x[j * v.inner];
      if (a.largest() ? greater(left, right) : greater(right, left)) return true;
      if (a.largest() ? greater(right, left) : greater(left, right)) return false;
      return i < j;
    };
    for (int64_t i = 0; i < v.extent; ++i) order[i] = i;
    if (a.sorted() || a.k() <= v.extent / kFew) {
      std::partial_sort(order, order + a.k(), order + v.extent, precedes);
    } else {
      top_k::select(order, order + v.extent, a.k() - 1, precedes);
    }
    for (int64_t i = 0; i < a.k(); ++i) {
      context.outputs[0].as<T>()[first + i * v.inner] = x[order[i] * v.inner];
      context.outputs[1].as<int64_t>()[first + i * v.inner] = order[i];
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef top_k_op = define_op(infer, work, run).with_outputs(2).with_prepare(prepare);

}  // namespace lazyrt
