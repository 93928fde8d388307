// Each value by itself: kind, dtype, shape, size and place.

#include <cinttypes>

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

Fault check_kind(fb::ValueKind kind) {
  if (kind <= fb::ValueKind::MAX) return {};
  return Fault(Error::kUnsupported, "its kind %d is newer than this runtime",
               static_cast<int>(kind));
}

Fault check_dtype(fb::DType dtype) {
  if (dtype == fb::DType::None) return bad_bundle("it has no dtype");
  if (dtype <= fb::DType::MAX) return {};
  return Fault(Error::kUnsupported, "its dtype %d is newer than this runtime",
               static_cast<int>(dtype));
}

Fault check_shape(const flatbuffers::Vector<int64_t>* shape) {
  if (!is_aligned(shape)) return bad_bundle("its shape is not aligned");
  const size_t rank = count_of(shape);
  if (rank > kMaxRank) return bad_bundle("rank %zu is more than %d", rank, kMaxRank);
  return {};
}

/// What Value.bytes must be.
Fault check_bytes(const MethodCheck& c, const fb::Value& value, ValueFacts* facts) {
  if (!checked_bytes(facts->spec, &facts->bytes)) {
    return bad_bundle("shape %s is negative or too large", shape_text(facts->spec.shape).text);
  }
  const uint64_t bytes = value.bytes();
  if (bytes != facts->bytes) {
    return bad_bundle("%" PRIu64 " bytes, but %s%s takes %" PRIu64, bytes,
                      dtype_name(facts->spec.dtype), shape_text(facts->spec.shape).text,
                      facts->bytes);
  }
  if (bytes != 0) return {};  // its place bounds it
  return c.work->check_volume(volume(facts->spec.shape));
}

/// Checks that [offset, offset + bytes + tail) lies in the arena or in the constants; states lie in
/// neither.
Fault check_place(const MethodCheck& c, const fb::Value& value, ValueFacts* facts) {
  const uint64_t offset = value.offset();
  if (facts->kind == fb::ValueKind::State) {
    if (offset == 0) return {};
    return bad_bundle("offset %" PRIu64 " of a state", offset);
  }
  const bool constant = facts->kind == fb::ValueKind::Constant;
  const uint64_t room = constant ? c.sections.constants.size() : c.method.arena_bytes();
  if (offset % kBundleAlignment != 0) {
    return bad_bundle("offset %" PRIu64 " is not a multiple of %d", offset,
                      static_cast<int>(kBundleAlignment));
  }
  const uint64_t needed = facts->bytes + kBundleTailBytes;
  if (offset > room || needed > room - offset) {
    return bad_bundle("%" PRIu64 " bytes and the tail at offset %" PRIu64
                      " end outside of the %s (%" PRIu64 ")",
                      facts->bytes, offset, constant ? "constants" : "arena", room);
  }
  facts->offset = offset;
  return {};
}

Fault check_value(MethodCheck* c, size_t id) {
  const fb::Value& value = c->value(id);
  ValueFacts& facts = c->values[id];
  facts.kind = value.kind();
  LAZYRT_RETURN_IF_ERROR(check_kind(facts.kind));
  LAZYRT_RETURN_IF_ERROR(check_dtype(value.dtype()));
  LAZYRT_RETURN_IF_ERROR(check_shape(value.shape()));
  facts.spec = spec_of(value);
  if (c->derives()) {
    if (!checked_bytes(facts.spec, &facts.bytes))
      return bad_bundle("shape %s is too large", shape_text(facts.spec.shape).text);
  } else {
    LAZYRT_RETURN_IF_ERROR(check_bytes(*c, value, &facts));
    LAZYRT_RETURN_IF_ERROR(check_place(*c, value, &facts));
  }
  facts.alias_of = value.alias_of();
  if (facts.kind == fb::ValueKind::Constant || facts.kind == fb::ValueKind::State) {
    facts.made_at = ValueFacts::kBeforeRun;
  }
  return {};
}

}  // namespace

bool checked_bytes(const TensorSpec& spec, uint64_t* bytes) {
  constexpr uint64_t kMost = INT64_MAX / 4;
  int64_t count = 0;
  if (!spec.shape.checked_numel(&count)) return false;
  const auto numel = static_cast<uint64_t>(count);
  const size_t bits = dtype_bits(spec.dtype);
  *bytes = bits % 8 == 0 ? numel * (bits / 8) : numel / 2 + numel % 2;  // at most 2^64 - 8
  return numel <= kMost && *bytes <= kMost;
}

Fault check_values(MethodCheck* check) {
  const size_t count = count_of(check->method.values());
  check->values = check->memory.make<ValueFacts>(count);
  if (check->memory.is_short()) return no_memory_to_check();
  for (size_t id = 0; id < count; ++id)
    LAZYRT_RETURN_IF_ERROR(check->at_value(id, check_value(check, id)));
  return {};
}

}  // namespace lazyrt
