#pragma once

// What Program and Method refer to. Internal to the runtime; sessions are made from it.

#include "lazyrt/runtime.h"
#include "runtime/bundle/variant_sizes.h"
#include "runtime/core/program_memory.h"
#include "runtime/core/shared_objects.h"
#include "runtime/platform/platform.h"

namespace lazyrt {

class ProgramState {
 public:
  BundleSections sections;
  /// A copy of the metadata in which methods are bound to other sizes: see BoundProgram. Null: the
  /// metadata is the file's.
  const uint8_t* bound_metadata = nullptr;
  const OpTable* ops = nullptr;
  LoadOptions options;  ///< limits, for what is bound to other sizes later
  uint64_t bytes = 0;
  Allocator allocator;  ///< of the state itself, too
  MappedFile file;      ///< unmapped with the state
  /// Takes memory from `allocator` for what sessions share, such as the texts that say why nodes
  /// run on a fallback.
  mutable ProgramMemory memory{&allocator};
  /// What backends share between the sessions of this program, by Backend*.
  mutable SharedObjects shared;

  ProgramState() = default;
  ProgramState(const ProgramState&) = delete;
  ProgramState& operator=(const ProgramState&) = delete;
  ~ProgramState() { platform_unmap_file(file); }

  const fb::Method& method(size_t i) const { return variant(i, 0); }
  /// Variant 0 is the method itself.
  const fb::Method& variant(size_t i, size_t variant) const {
    const fb::Method& stored = variant_of(in_file(i), variant);
    if (bound_metadata == nullptr) return stored;
    return *reinterpret_cast<const fb::Method*>(bound_metadata + sections.place_of(&stored));
  }
  size_t method_count() const { return count_of(sections.bundle->methods()); }
  size_t variant_count(size_t i) const { return variants_of(in_file(i)); }
  /// Bytes of a Constant value.
  const uint8_t* constant(const fb::Value& value) const {
    return sections.constants.data() + value.offset();
  }

 private:
  const fb::Method& in_file(size_t i) const {
    return *sections.bundle->methods()->Get(static_cast<uint32_t>(i));
  }
};

}  // namespace lazyrt
