// Guards: one element of a known kind of number, and a number that such an element can be.

#include <cinttypes>
#include <cmath>

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

/// Whether an element of this dtype can be `x`. REQUIRES: integral or bool.
bool can_hold(DType dtype, int64_t x) {
  if (dtype == DType::kBool) return x == 0 || x == 1;
  if (dtype == DType::kUInt8) return x >= 0 && x <= UINT8_MAX;
  if (dtype_size(dtype) == 0) return true;
  const auto unused = static_cast<int>(64 - 8 * dtype_size(dtype));
  return static_cast<int64_t>(static_cast<uint64_t>(x) << unused) >> unused == x;
}

Fault check_seen(const fb::Guard& guard, DType dtype) {
  const bool real = guard.kind() == fb::GuardKind::Equal && is_floating(dtype);
  if (real) {
    if (guard.seen_integer() != 0) return bad_bundle("an integer seen of a %s", dtype_name(dtype));
    if (std::isfinite(guard.tolerance()) && guard.tolerance() >= 0) return {};
    return bad_bundle("its tolerance is negative or not finite");
  }
  if (guard.seen_real() != 0 || guard.tolerance() != 0) {
    return bad_bundle("a real number seen where none counts");
  }
  const DType held = guard.kind() == fb::GuardKind::Truth ? DType::kBool : dtype;
  if (can_hold(held, guard.seen_integer())) return {};
  return bad_bundle("%" PRId64 " seen of a %s", guard.seen_integer(), dtype_name(held));
}

Fault check_guard(const MethodCheck& c, const fb::Guard& guard) {
  if (guard.kind() > fb::GuardKind::MAX) {
    return Fault(Error::kUnsupported, "its kind %d is newer than this runtime",
                 static_cast<int>(guard.kind()));
  }
  if (!c.is_source(guard.source())) return bad_bundle("there is no source %d", guard.source());
  if (!c.is_value(guard.value())) return bad_bundle("there is no value %d", guard.value());
  const TensorSpec& spec = c.values[static_cast<size_t>(guard.value())].spec;
  if (spec.numel() != 1) return bad_bundle("value %d is not a scalar", guard.value());
  return check_seen(guard, spec.dtype);
}

}  // namespace

Fault check_guards(MethodCheck* check) {
  const MethodCheck& c = *check;
  for (uint32_t i = 0; i < count_of(c.method.guards()); ++i) {
    LAZYRT_RETURN_IF_ERROR(
        check_guard(c, guard_at(c.method, i))
            .with_context("method '%.30s', guard %u", c.name(), static_cast<unsigned>(i)));
  }
  return {};
}

}  // namespace lazyrt
