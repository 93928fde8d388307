#pragma once

// What is known about each function of one operand (functions.inc) without computing it.

#include <cstdint>

#include "kernels/common/dtype_set.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// Which types a function takes and gives.
enum class UnaryKind : uint8_t {
  kFloats,    ///< floating numbers
  kNumbers,   ///< numbers
  kRounding,  ///< numbers, and leaves integers as they are
  kBits,      ///< integers and bools
  kTruth,     ///< anything; gives a bool
};

constexpr DTypeSet unary_types(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kFloats:
      return kFloatTypes;
    case UnaryKind::kNumbers:
    case UnaryKind::kRounding:
      return kNumberTypes;
    case UnaryKind::kBits:
      return kIntegerTypes | kBoolType;
    case UnaryKind::kTruth:
      break;
  }
  return kComputeTypes;
}

/// REQUIRES: fn is a member of the enum.
constexpr UnaryKind unary_kind(fb::UnaryFn fn) {
  switch (fn) {
#define LAZYRT_UNARY(number, Name, kind, ...) \
  case fb::UnaryFn::Name:                     \
    return UnaryKind::k##kind;
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
  }
  return UnaryKind::kFloats;
}

constexpr size_t kUnaryFunctions = static_cast<size_t>(fb::UnaryFn::MAX) + 1;

constexpr int kUnaryNumbers[] = {
#define LAZYRT_UNARY(number, ...) number,
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
};
static_assert(sizeof(kUnaryNumbers) / sizeof(int) == kUnaryFunctions,
              "functions.inc leaves out a number");

}  // namespace lazyrt
