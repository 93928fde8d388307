// Parts of the schema that this runtime does not run yet: checked for form first, then refused by
// name.

#include <cmath>

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

Fault check_scales(const fb::Quantization& q) {
  for (uint32_t i = 0; i < count_of(q.scales()); ++i) {
    const float scale = q.scales()->Get(i);
    if (!std::isfinite(scale) || scale <= 0)
      return bad_bundle("scale %u is not positive", static_cast<unsigned>(i));
  }
  return {};
}

Fault check_quantization(const MethodCheck& c, size_t id) {
  const fb::Quantization* q = c.value(id).quantization();
  if (q == nullptr) return {};
  if (!is_aligned(q->zero_points())) return bad_bundle("its zero points are not aligned");
  const TensorSpec& spec = c.values[id].spec;
  if (!is_integral(spec.dtype))
    return bad_bundle("quantized, but of dtype %s", dtype_name(spec.dtype));
  if (q->axis() < -1 || q->axis() >= spec.shape.rank()) {
    return bad_bundle("quantization axis %d of %d dims", q->axis(), spec.shape.rank());
  }
  const int64_t channels = q->axis() == -1 ? 1 : spec.shape[q->axis()];
  if (static_cast<int64_t>(count_of(q->scales())) != channels ||
      static_cast<int64_t>(count_of(q->zero_points())) != channels) {
    return bad_bundle("%zu scales and %zu zero points for %lld channels", count_of(q->scales()),
                      count_of(q->zero_points()), static_cast<long long>(channels));
  }
  return check_scales(*q);
}

/// Elements of whole bytes, not quantized.
Fault check_runs(const MethodCheck& c, size_t id) {
  const DType dtype = c.values[id].spec.dtype;
  const bool packed = dtype_size(dtype) == 0;
  if (!packed && c.value(id).quantization() == nullptr) return {};
  return Fault(Error::kUnsupported,
               "method '%.60s' has %s values (value %zu, '%.40s'), which this runtime cannot run",
               c.name(), packed ? dtype_name(dtype) : "quantized", id, text_of(c.value(id).name()));
}

}  // namespace

Fault check_reserved(MethodCheck* check) {
  for (size_t id = 0; id < check->values.size(); ++id) {
    LAZYRT_RETURN_IF_ERROR(check->at_value(id, check_quantization(*check, id)));
  }
  return {};
}

Fault check_supported(const MethodCheck& check) {
  for (size_t id = 0; id < check.values.size(); ++id) {
    LAZYRT_RETURN_IF_ERROR(check_runs(check, id));
  }
  return {};
}

}  // namespace lazyrt
