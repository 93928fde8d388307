#pragma once

// What this build keeps of an operator's files: everything, or what lazyrt_selective found in
// bundles. In a selective build, a generated file defines these macros and includes the operator's
// file (toolchains/cmake/LazyrtKeep.cmake).

#include "kernels/common/dtype_set.h"

namespace lazyrt {

#ifdef LAZYRT_KEPT_TYPES
constexpr DTypeSet kKeptTypes = LAZYRT_KEPT_TYPES;
#else
constexpr DTypeSet kKeptTypes = ~DTypeSet{0};
#endif

/// Whether the operator is kept for elements of that type.
constexpr bool keeps(DType type, DTypeSet kept = kKeptTypes) {
  return (kept >> static_cast<unsigned>(type) & 1) != 0;
}

/// The types for which a function of unary/ or binary/, given by its number, is kept. Static,
/// because it differs from file to file.
static inline constexpr DTypeSet kept_types_of([[maybe_unused]] int function) {
#ifdef LAZYRT_KEPT_FUNCTIONS
  struct Kept {
    int number;
    DTypeSet types;
  };
  constexpr Kept kKept[] = {LAZYRT_KEPT_FUNCTIONS};
  for (const Kept& kept : kKept) {
    if (kept.number == function) return kept.types;
  }
  return 0;
#else
  return kKeptTypes;
#endif
}

/// Whether this build keeps moving elements of this many bytes.
constexpr bool keeps_size(size_t bytes, DTypeSet kept = kKeptTypes) {
  for (int type = 1; type < kDTypeCount; ++type) {
    if (keeps(static_cast<DType>(type), kept) && dtype_size(static_cast<DType>(type)) == bytes)
      return true;
  }
  return false;
}

}  // namespace lazyrt
