// Sum, mean, product, extremes, any and all on Vulkan.

#include "kernels/common/check.h"
#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Kernel reduce_vk;
extern const Shader reduce_f32_shader, reduce_i32_shader, reduce_i64_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("reduce", node); }

/// Dims, the innermost first, with neighbours merged that are walked as one. Of 8 dims, at most 4
/// kept ones do not merge, nor do more than 4 folded ones.
struct Dims {
  uint32_t extents[4] = {1, 1, 1, 1};
  uint32_t steps[4] = {};

  void add(int64_t extent, int64_t step) {
    int d = 0;
    while (d < 4 && steps[d] != 0) ++d;
    const bool merges = d > 0 && steps[d - 1] * extents[d - 1] == step;
    if (!merges) steps[d++] = static_cast<uint32_t>(step);
    extents[d - 1] *= static_cast<uint32_t>(extent);
  }
};
struct Push {
  RowForm form;
  uint32_t extent;
  Dims kept, folded;
};

Push push_of(const Shape& x, uint32_t axes) {
  const Strides strides = row_major(x);
  Push push = {};
  int64_t extent = 1, rows = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const bool folds = (axes >> i & 1) != 0;
    (folds ? extent : rows) *= x[i];
    if (x[i] > 1) (folds ? push.folded : push.kept).add(x[i], strides[i]);
  }
  push.extent = static_cast<uint32_t>(extent);
  push.form = choose_row_form(extent, push.kept.steps[0] == 1 ? push.kept.extents[0] : 1, rows);
  return push;
}

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Reduce>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("reduce", a.axes(), x.shape.rank(), &axes));
  const Push push = push_of(x.shape, axes);
  const uint32_t constants[] = {static_cast<uint32_t>(a.fn()), static_cast<uint32_t>(x.dtype)};
  const VulkanOperand operands[] = {reads(x.numel() != 0 ? x : y), writes(y)};
  return recorder.dispatch(
      shader_of(x.dtype, reduce_f32_shader, reduce_i32_shader, reduce_i64_shader), constants,
      operands, push, row_groups(recorder, push.form));
}

}  // namespace

const Kernel reduce_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
