// A tensor of one number.

#include <cstring>

#include "kernels/common/element.h"
#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel full_vk;
extern const Shader fill_shader;

namespace {

struct Push {
  uint32_t words;
  uint32_t pattern[2];  ///< repeats the element
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Full>();
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Push push = {static_cast<uint32_t>((y.bytes() + 3) / 4), {}};
  LAZYRT_RETURN_IF_ERROR(visit_dtype(AllTypes{}, y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const T value = is_floating(y.dtype) ? convert<T>(a.real()) : convert<T>(a.integer());
    for (size_t at = 0; at < sizeof(push.pattern); at += sizeof(T))
      std::memcpy(reinterpret_cast<char*>(push.pattern) + at, &value, sizeof(T));
    return Fault();
  }));
  const VulkanOperand operands[] = {writes(y)};
  return recorder.dispatch(fill_shader, {}, operands, push, recorder.linear(quads(push.words)));
}

}  // namespace

const Kernel full_vk = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
