#include "runtime/exec/guards.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/exec/counter.h"

namespace lazyrt {
namespace {

constexpr const char kFailedCheck[] = "this input fails a check of the model";

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

/// What a guard sees of a value, and as text.
struct Seen {
  bool is_real = false;
  int64_t integer = 0;
  double real = 0;
};

Seen look_at(const fb::Guard& guard, const TensorView& x) {
  Seen seen;
  const bool real = is_floating(x.dtype);
  seen.is_real = real && guard.kind() == fb::GuardKind::Equal;
  if (real) seen.real = read_real(x);
  if (!real) seen.integer = read_integer(x);
  if (guard.kind() == fb::GuardKind::Truth) {
    seen.integer = real ? (seen.real != 0 ? 1 : 0) : (seen.integer != 0 ? 1 : 0);
  }
  return seen;
}

bool holds(const fb::Guard& guard, const Seen& now) {
  if (!now.is_real) return now.integer == guard.seen_integer();
  if (std::isnan(now.real) || std::isnan(guard.seen_real()))
    return std::isnan(now.real) && std::isnan(guard.seen_real());
  return now.real == guard.seen_real() ||
         std::fabs(now.real - guard.seen_real()) <= guard.tolerance();
}

struct NumberText {
  char text[28];
};

NumberText text_of_number(const fb::Guard& guard, DType dtype, bool is_real, int64_t integer,
                          double real) {
  NumberText out;
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

Status failed_check(const fb::Method& method, const fb::Guard& guard) {
  const SourcePlace place = source_place(method, guard.source());
  const bool known = place.text[0] != '\0';
  return Status(Error::kGuardFailed, "%s: %.120s%s%s%s", kFailedCheck, text_of(guard.text()),
                known ? " (" : "", place.text, known ? ")" : "");
}

Status broken(const fb::Method& method, const fb::Guard& guard, DType dtype, const Seen& now) {
  if (guard.check()) return failed_check(method, guard);
  const NumberText then =
      text_of_number(guard, dtype, now.is_real, guard.seen_integer(), guard.seen_real());
  const NumberText here = text_of_number(guard, dtype, now.is_real, now.integer, now.real);
  const SourcePlace place = source_place(method, guard.source());
  const char* text = text_of(guard.text());
  return Status(Error::kGuardFailed, "%.80s was %s when exported, now %s%s%s%s",
                text[0] == '\0' ? "a value" : text, then.text, here.text,
                place.text[0] == '\0' ? "" : " (", place.text, place.text[0] == '\0' ? "" : ")");
}

}  // namespace

bool is_failed_check(const Status& status) {
  return status.error() == Error::kGuardFailed &&
         std::strncmp(status.message(), kFailedCheck, sizeof(kFailedCheck) - 1) == 0;
}

Status Guards::make(const fb::Method& method, const Allocator& allocator) {
  method_ = &method;
  const size_t count = count_of(method.guards());
  if (count == 0) return {};
  Array<int32_t> made_by;
  if (!made_by.make(count_of(method.values()), allocator) || !entries_.make(count, allocator) ||
      !refusals_.make(count, allocator)) {
    return Status(Error::kOutOfMemory, "no memory for the guards of a session");
  }
  for (int32_t& node : made_by) node = -1;
  for (uint32_t n = 0; n < count_of(method.nodes()); ++n) {
    for (int32_t id : ints_of(method.nodes()->Get(n)->outputs())) {
      made_by[static_cast<size_t>(id)] = static_cast<int32_t>(n);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    entries_[i] = {made_by[static_cast<size_t>(method.guards()->Get(i)->value())], i};
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.after != b.after ? a.after < b.after : a.guard < b.guard;
  });
  return {};
}

Status Guards::check_due(int32_t node, const TensorView* values, size_t* next) {
  for (; *next < entries_.size() && entries_[*next].after <= node; ++*next) {
    const fb::Guard& guard = *method_->guards()->Get(entries_[*next].guard);
    const TensorView& x = values[guard.value()];
    const Seen now = look_at(guard, x);
    if (holds(guard, now)) continue;
    add_to(&refusals_[entries_[*next].guard], 1);
    return broken(*method_, guard, x.dtype, now);
  }
  return {};
}

uint64_t Guards::refusals(size_t guard) const {
  return guard < refusals_.size() ? read_counter(refusals_[guard]) : 0;
}

}  // namespace lazyrt
