// tril and triu: elements outside the triangle become 0.

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef triangle_op;

namespace {

Fault infer(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("triangle", triangle_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_min_rank("triangle", "x", in[0], 2));
  return set_output("triangle", &out[0], in[0].dtype, in[0].shape);
}

template <class T>
void keep_triangle(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Triangle>();
  const Shape& shape = context.inputs[0].shape;
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  for (int64_t i = 0, count = shape.numel(); i < count; ++i) {
    const int64_t column = i % shape.back(0);
    const int64_t row = i / shape.back(0) % shape.back(1);
    const bool keeps = a.upper() ? column - row >= a.diagonal() : column - row <= a.diagonal();
    y[i] = keeps ? x[i] : T(0);
  }
}

Fault run(void*, const RunContext& context) {
  return visit_element_size(dtype_size(context.inputs[0].dtype), [&](auto type) {
    keep_triangle<typename decltype(type)::type>(context);
    return Fault();
  });
}

}  // namespace

const OpDef triangle_op = define_op(infer, work_by_size, run).with_inplace_inputs(0b1);

}  // namespace lazyrt
