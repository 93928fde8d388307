// The k largest or smallest elements along an axis, by counting what precedes each.

#include <algorithm>

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel top_k_vk;
extern const Shader top_k_shader;

namespace {

constexpr int64_t kLongestRow = 4096;
/// Most comparisons in one dispatch, far below what makes a driver's watchdog act.
constexpr int64_t kMostSteps = int64_t{1} << 34;
/// As in top_k.cpp: ATen sorts the results even without `sorted` if few are wanted.
constexpr int64_t kFew = 64;

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  const auto& a = node.attrs.as<fb::TopK>();
  const int64_t extent = x.shape[a.axis()];
  if (shader_type(x.dtype) == ShaderType::kNone) return no_shader("top_k", x.dtype);
  if (extent > kLongestRow)
    return Fault(Error::kUnsupported, "top_k: rows have %lld elements; the shader takes up to %lld",
                 static_cast<long long>(extent), static_cast<long long>(kLongestRow));
  if (x.numel() > kMostSteps / std::max<int64_t>(extent, 1))
    return Fault(Error::kUnsupported,
                 "top_k: %lld elements in rows of %lld are too many for a dispatch",
                 static_cast<long long>(x.numel()), static_cast<long long>(extent));
  if (!a.sorted() && a.k() > extent / kFew)
    return Fault(Error::kUnsupported,
                 "top_k: the shader cannot give unsorted results in the host's order");
  return {};
}

struct Push {
  uint32_t count, extent, inner, k, largest;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::TopK>();
  const TensorView& x = context.inputs[0];
  const TensorView& values = context.outputs[0];
  if (values.numel() == 0) return {};
  const AxisView v = axis_view(x.shape, a.axis());
  const Push push = {static_cast<uint32_t>(x.numel()), static_cast<uint32_t>(v.extent),
                     static_cast<uint32_t>(v.inner), static_cast<uint32_t>(a.k()),
                     a.largest() ? 1U : 0U};
  const uint32_t constants[] = {static_cast<uint32_t>(x.dtype)};
  const VulkanOperand operands[] = {reads(x), updates(values), writes(context.outputs[1])};
  return recorder.dispatch(top_k_shader, constants, operands, push, recorder.linear(push.count));
}

}  // namespace

const Kernel top_k_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
