#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/op/op_def.h"

namespace lazyrt {

/// The immutable attributes of one node: one table of schema/ops.fbs in FlatBuffer form, so that
/// equality, hash, text and what the kernels read all come from the schema. Copies share the bytes.
class Attrs {
 public:
  Attrs() = default;
  /// From an object-API table: Attrs::of(fb::SoftmaxT{...}).
  template <class TableT>
  static Attrs of(const TableT& table) {
    fb::OpAttrsUnion u;
    u.Set(TableT(table));
    return Attrs(u);
  }
  explicit Attrs(const fb::OpAttrsUnion& op);

  fb::OpAttrs kind() const { return kind_; }
  /// The op's snake_case name in `ops`, "none" when empty.
  const char* name() const;
  /// For shape rules and kernels; valid as long as any copy of this lives.
  OpAttrs view() const;
  /// The table in place. REQUIRES: kind() is T's member.
  template <class T>
  const T& as() const {
    return view().as<T>();
  }
  /// A mutable copy.
  fb::OpAttrsUnion unpack() const;
  /// Fields in schema order, without defaults: "stride_h=2, stride_w=2, groups=32".
  std::string text() const;
  size_t hash() const;
  bool operator==(const Attrs& other) const;

 private:
  fb::OpAttrs kind_ = fb::OpAttrs::NONE;
  std::shared_ptr<const std::vector<uint8_t>> bytes_;
};

/// The fields of an op's table by their numbers; nullptr for NONE and what the schema lacks.
const flatbuffers::TypeTable* attrs_type_table(fb::OpAttrs kind);

}  // namespace lazyrt
