// Conversion between element types, on all threads.

#include "kernels/common/element.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel cast_cpu;

namespace {

using CastTypes = Types<float, int64_t, int32_t, uint8_t, Bool>;

Fault supports(const NodeSpec& node) {
  const auto any = [](auto) { return Fault(); };
  LAZYRT_RETURN_IF_ERROR(visit_dtype(CastTypes{}, node.inputs[0].dtype, any));
  return visit_dtype(CastTypes{}, node.outputs[0].dtype, any);
}

template <class From, class To>
Fault convert_all(const RunContext& context) {
  const From* x = context.inputs[0].as<const From>();
  To* y = context.outputs[0].as<To>();
  parallel_for(cpu_services(context), static_cast<size_t>(context.inputs[0].numel()), grain_of(1),
               [=](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
               });
  return {};
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(CastTypes{}, context.inputs[0].dtype, [&](auto from) {
    return visit_dtype(CastTypes{}, context.outputs[0].dtype, [&](auto to) {
      return convert_all<typename decltype(from)::type, typename decltype(to)::type>(context);
    });
  });
}

}  // namespace

const Kernel cast_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
