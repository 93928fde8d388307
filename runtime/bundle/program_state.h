#pragma once

// What stands behind Program and Method. Internal to the runtime; sessions are made from it.

#include "lazyrt/runtime.h"
#include "runtime/bundle/variant_sizes.h"
#include "runtime/core/shared_objects.h"
#include "runtime/platform/platform.h"

namespace lazyrt {

class ProgramState {
 public:
  BundleSections sections;
  const OpTable* ops = nullptr;
  LoadOptions options;  ///< limits, for what is bound to other sizes later
  uint64_t bytes = 0;
  Allocator allocator;  ///< of the state itself, too
  MappedFile file;      ///< unmapped with the state
  /// What backends share between the sessions of this program, by Backend*.
  mutable SharedObjects shared;

  ProgramState() = default;
  ProgramState(const ProgramState&) = delete;
  ProgramState& operator=(const ProgramState&) = delete;
  ~ProgramState() { platform_unmap_file(file); }

  const fb::Method& method(size_t i) const {
    return *sections.bundle->methods()->Get(static_cast<uint32_t>(i));
  }
  /// Variant 0 is the method itself.
  const fb::Method& variant(size_t i, size_t variant) const {
    return variant_of(method(i), variant);
  }
  size_t method_count() const { return count_of(sections.bundle->methods()); }
  size_t variant_count(size_t i) const { return variants_of(method(i)); }
  /// Bytes of a Constant value.
  const uint8_t* constant(const fb::Value& value) const {
    return sections.constants.data() + value.offset();
  }
};

}  // namespace lazyrt
