#include "runtime/exec/guards.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "runtime/core/sort.h"
#include "runtime/platform/threads.h"

namespace lazyrt {
namespace {

/// A binary float of 16 bits: f16 has 10 bits of mantissa, bf16 7.
double decode_short_float(uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7FFF) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/// REQUIRES: a floating tensor of one element.
double read_real(const TensorView& x) {
  switch (x.dtype) {
    case DType::kFloat32:
      return static_cast<double>(*x.as<float>());
    case DType::kFloat64:
      return *x.as<double>();
    case DType::kFloat16:
      return decode_short_float(*x.as<uint16_t>(), 10);
    default:
      return decode_short_float(*x.as<uint16_t>(), 7);
  }
}

/// REQUIRES: an integral or bool tensor of one element.
int64_t read_integer(const TensorView& x) {
  switch (x.dtype) {
    case DType::kInt8:
      return *x.as<int8_t>();
    case DType::kInt16:
      return *x.as<int16_t>();
    case DType::kInt32:
      return *x.as<int32_t>();
    case DType::kInt64:
      return *x.as<int64_t>();
    case DType::kBool:
      return *x.as<uint8_t>() != 0 ? 1 : 0;
    default:
      return *x.as<uint8_t>();
  }
}

struct NumberText {
  char text[28];
};

NumberText text_of_number(const fb::Guard& guard, DType dtype, bool is_real, int64_t integer,
                          double real) {
  NumberText out = {};
  if (LAZYRT_MESSAGES == 0) return out;
  const bool truth = guard.kind() == fb::GuardKind::Truth || dtype == DType::kBool;
  if (is_real) {
    snprintf(out.text, sizeof(out.text), "%.9g", real);
  } else if (truth) {
    snprintf(out.text, sizeof(out.text), "%s", integer != 0 ? "true" : "false");
  } else {
    snprintf(out.text, sizeof(out.text), "%" PRId64, integer);
  }
  return out;
}

Fault failed_check(const fb::Method& method, const fb::Guard& guard) {
  const SourcePlace place = source_place(method, guard.source());
  const bool known = place.text[0] != '\0';
  return Fault(Error::kGuardFailed, "this input fails a check of the model: %.120s%s%s%s",
               text_of(guard.text()), known ? " (" : "", place.text, known ? ")" : "");
}

}  // namespace

Guards::Entry Guards::entry_of(const fb::Guard& guard) {
  Entry entry;
  entry.value = static_cast<uint32_t>(guard.value());
  entry.kind = guard.kind();
  entry.check = guard.check();
  entry.integer = guard.seen_integer();
  entry.real = guard.seen_real();
  entry.tolerance = guard.tolerance();
  return entry;
}

Guards::Seen Guards::look_at(const Entry& guard, const TensorView& x) {
  Seen seen;
  seen.dtype = x.dtype;
  const bool real = is_floating(x.dtype);
  seen.is_real = real && guard.kind == fb::GuardKind::Equal;
  if (real) seen.real = read_real(x);
  if (!real) seen.integer = read_integer(x);
  if (guard.kind == fb::GuardKind::Truth) {
    seen.integer = real ? (seen.real != 0 ? 1 : 0) : (seen.integer != 0 ? 1 : 0);
  }
  return seen;
}

bool Guards::agrees(const Entry& guard, const Seen& now) {
  if (!now.is_real) return now.integer == guard.integer;
  if (std::isnan(now.real) || std::isnan(guard.real))
    return std::isnan(now.real) && std::isnan(guard.real);
  return now.real == guard.real || std::fabs(now.real - guard.real) <= guard.tolerance;
}

Fault Guards::why(const fb::Method& texts) const {
  const fb::Guard& guard = guard_at(texts, entries_[broken_].guard);
  if (guard.check()) return failed_check(texts, guard);
  const NumberText then =
      text_of_number(guard, now_.dtype, now_.is_real, guard.seen_integer(), guard.seen_real());
  const NumberText here = text_of_number(guard, now_.dtype, now_.is_real, now_.integer, now_.real);
  const SourcePlace place = source_place(texts, guard.source());
  const char* text = text_of(guard.text());
  return Fault(Error::kGuardFailed, "%.80s was %s when exported, now %s%s%s%s",
               text[0] == '\0' ? "a value" : text, then.text, here.text,
               place.text[0] == '\0' ? "" : " (", place.text, place.text[0] == '\0' ? "" : ")");
}

Fault Guards::make(const fb::Method& method, Span<const bool> late, Pool* pool) {
  const size_t count = count_of(method.guards());
  if (count == 0) return {};
  entries_ = pool->make<Entry>(count);
  refusals_ = pool->make<uint64_t>(count);
  const void* kept = pool->last();
  const auto made_by = pool->make<int32_t>(count_of(method.values()));
  if (pool->is_short()) return Fault(Error::kOutOfMemory, "no memory for the guards of a session");
  for (int32_t& node : made_by) node = -1;
  for (uint32_t n = 0; n < count_of(method.nodes()); ++n) {
    for (int32_t id : outputs_of(node_at(method, n))) {
      made_by[static_cast<size_t>(id)] = static_cast<int32_t>(n);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    entries_[i] = entry_of(guard_at(method, i));
    entries_[i].after = made_by[entries_[i].value];
    entries_[i].guard = i;
    entries_[i].is_late =
        !late.empty() && entries_[i].after >= 0 && late[static_cast<size_t>(entries_[i].after)];
    early_ += entries_[i].is_late ? 0 : 1;
  }
  pool->forget_since(kept);
  sort(entries_, [](const Entry& a, const Entry& b) {
    if (a.is_late != b.is_late) return b.is_late;
    return a.after != b.after ? a.after < b.after : a.guard < b.guard;
  });
  return {};
}

bool Guards::holds(size_t entry, const TensorView& x) {
  const Entry& guard = entries_[entry];
  const Seen now = look_at(guard, x);
  if (agrees(guard, now)) return true;
  now_ = now;
  broken_ = entry;
  return false;
}

uint64_t Guards::refusals(size_t guard) const {
  return guard < refusals_.size() ? read_counter(refusals_[guard]) : 0;
}

}  // namespace lazyrt
