// Parts of the schema that this runtime does not run yet: well-formed first, then refused by name.

#include <cmath>

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

Status check_symbol(const MethodCheck& c, uint32_t i) {
  const fb::Symbol& symbol = *c.method.symbols()->Get(i);
  LAZYRT_RETURN_IF_ERROR(c.budget->charge(8));
  if (count_of(symbol.name()) == 0)
    return bad_bundle("symbol %u has no name", static_cast<unsigned>(i));
  if (symbol.min() >= 1 && symbol.min() <= symbol.max()) return {};
  return bad_bundle("symbol '%.60s': bounds %lld to %lld", text_of(symbol.name()),
                    static_cast<long long>(symbol.min()), static_cast<long long>(symbol.max()));
}

Status check_dim_symbol(const MethodCheck& c, size_t id, uint32_t dim, int32_t index) {
  if (index == -1) return {};
  if (index < -1 || static_cast<size_t>(index) >= count_of(c.method.symbols())) {
    return c.bad_value(id, "dim %u: there is no symbol %d", static_cast<unsigned>(dim), index);
  }
  const fb::Symbol& symbol = *c.method.symbols()->Get(static_cast<uint32_t>(index));
  const int64_t extent = c.values[id].spec.shape[static_cast<int>(dim)];
  if (extent >= symbol.min() && extent <= symbol.max()) return {};
  return c.bad_value(id, "dim %u: %lld is outside of the bounds of symbol '%.40s'",
                     static_cast<unsigned>(dim), static_cast<long long>(extent),
                     text_of(symbol.name()));
}

Status check_value_symbols(const MethodCheck& c, size_t id) {
  const auto symbols = ints_of(c.value(id).symbols());
  if (symbols.empty()) return {};
  if (symbols.size() != c.values[id].spec.shape.size()) {
    return c.bad_value(id, "%zu symbols for %d dims", symbols.size(),
                       c.values[id].spec.shape.rank());
  }
  for (uint32_t dim = 0; dim < symbols.size(); ++dim) {
    LAZYRT_RETURN_IF_ERROR(check_dim_symbol(c, id, dim, symbols[dim]));
  }
  return {};
}

Status check_scales(const MethodCheck& c, size_t id, const fb::Quantization& q) {
  LAZYRT_RETURN_IF_ERROR(c.budget->charge(count_of(q.scales()) * 12));
  for (uint32_t i = 0; i < count_of(q.scales()); ++i) {
    const float scale = q.scales()->Get(i);
    if (!std::isfinite(scale) || scale <= 0)
      return c.bad_value(id, "scale %u is not positive", static_cast<unsigned>(i));
  }
  return {};
}

Status check_quantization(const MethodCheck& c, size_t id) {
  const fb::Quantization* q = c.value(id).quantization();
  if (q == nullptr) return {};
  if (!is_aligned(q->zero_points())) return c.bad_value(id, "its zero points are not aligned");
  const TensorSpec& spec = c.values[id].spec;
  if (!is_integral(spec.dtype))
    return c.bad_value(id, "quantized, but of dtype %s", dtype_name(spec.dtype));
  if (q->axis() < -1 || q->axis() >= spec.shape.rank()) {
    return c.bad_value(id, "quantization axis %d of %d dims", q->axis(), spec.shape.rank());
  }
  const int64_t channels = q->axis() == -1 ? 1 : spec.shape[q->axis()];
  if (static_cast<int64_t>(count_of(q->scales())) != channels ||
      static_cast<int64_t>(count_of(q->zero_points())) != channels) {
    return c.bad_value(id, "%zu scales and %zu zero points for %lld channels",
                       count_of(q->scales()), count_of(q->zero_points()),
                       static_cast<long long>(channels));
  }
  return check_scales(c, id, *q);
}

Status unsupported(const MethodCheck& c, const char* what) {
  return Status(Error::kUnsupported, "method '%.60s' has %s, which this runtime cannot run",
                c.name(), what);
}

}  // namespace

Status check_reserved(const MethodCheck& check) {
  for (uint32_t i = 0; i < count_of(check.method.symbols()); ++i) {
    LAZYRT_RETURN_IF_ERROR(check_symbol(check, i).with_context("method '%.30s'", check.name()));
  }
  for (size_t id = 0; id < check.values.size(); ++id) {
    LAZYRT_RETURN_IF_ERROR(check_value_symbols(check, id));
    LAZYRT_RETURN_IF_ERROR(check_quantization(check, id));
  }
  return {};
}

Status check_supported(const MethodCheck& check) {
  if (count_of(check.method.symbols()) != 0) return unsupported(check, "dynamic dims (symbols)");
  for (size_t id = 0; id < check.values.size(); ++id) {
    if (check.value(id).quantization() != nullptr) return unsupported(check, "quantized values");
  }
  return {};
}

}  // namespace lazyrt
