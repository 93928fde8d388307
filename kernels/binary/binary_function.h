#pragma once

// What is known about each function of two operands (functions.inc) without computing it.

#include <cstdint>

#include "kernels/common/dtype_set.h"
#include "runtime/core/fault.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// Which types a function takes and returns. Both operands have one type.
enum class BinaryKind : uint8_t {
  kAny,         ///< whatever is computed in
  kNumbers,     ///< numbers
  kFloats,      ///< floating numbers
  kIntegers,    ///< integers
  kDivision,    ///< numbers; an integer divided by 0 is refused at run
  kBits,        ///< integers and bools
  kLogic,       ///< anything; gives a bool, computed from the truth of both operands
  kComparison,  ///< anything; gives a bool
};

constexpr DTypeSet binary_types(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kNumbers:
    case BinaryKind::kDivision:
      return kNumberTypes;
    case BinaryKind::kFloats:
      return kFloatTypes;
    case BinaryKind::kIntegers:
      return kIntegerTypes;
    case BinaryKind::kBits:
      return kIntegerTypes | kBoolType;
    case BinaryKind::kAny:
    case BinaryKind::kLogic:
    case BinaryKind::kComparison:
      break;
  }
  return kComputeTypes;
}

constexpr bool gives_bool(BinaryKind kind) {
  return kind == BinaryKind::kLogic || kind == BinaryKind::kComparison;
}

enum class BinaryCost : uint8_t { kStep, kCall };

struct BinaryTraits {
  BinaryKind kind;
  BinaryCost cost;
};

/// REQUIRES: fn is a member of the enum.
constexpr BinaryTraits binary_traits(fb::BinaryFn fn) {
  switch (fn) {
#define LAZYRT_BINARY(number, Name, kind, cost, ...) \
  case fb::BinaryFn::Name:                           \
    return {BinaryKind::k##kind, BinaryCost::k##cost};
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
  }
  return {};
}
constexpr BinaryKind binary_kind(fb::BinaryFn fn) { return binary_traits(fn).kind; }

constexpr size_t kBinaryFunctions = static_cast<size_t>(fb::BinaryFn::MAX) + 1;

constexpr int kBinaryNumbers[] = {
#define LAZYRT_BINARY(number, ...) number,
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
};
static_assert(sizeof(kBinaryNumbers) / sizeof(int) == kBinaryFunctions,
              "functions.inc leaves out a number");

/// Of integers by a function of BinaryKind::kDivision.
inline Fault division_by_zero(Word fn) {
  return Fault(Error::kOutOfRange, "%s: integer division by zero", fn);
}

}  // namespace lazyrt
