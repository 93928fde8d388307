#pragma once

// FlatBuffers 2 verifies where a vector's length is aligned, not its elements: a hostile file may
// put 64-bit elements at an address that is none of theirs. Included before the generated headers
// by the one file that verifies.

#include <flatbuffers/flatbuffers.h>

#if FLATBUFFERS_VERSION_MAJOR != 2
#error "look whether this FlatBuffers verifies the alignment of elements, and drop this file if so"
#endif

namespace flatbuffers {

template <>
// NOLINTNEXTLINE(readability-identifier-naming)
inline bool Verifier::VerifyVector<int64_t>(const Vector<int64_t>* vec) const {
  if (vec == nullptr) return true;
  const auto address = reinterpret_cast<uintptr_t>(vec);
  if ((address + sizeof(uoffset_t)) % alignof(int64_t) != 0) return false;
  return VerifyVectorOrString(reinterpret_cast<const uint8_t*>(vec), sizeof(int64_t));
}

}  // namespace flatbuffers
