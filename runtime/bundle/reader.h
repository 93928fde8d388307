#pragma once

// From the bytes of a file to its sections, and small reads of the schema's tables.

#include "lazyrt/span.h"
#include "lazyrt/tensor_view.h"
#include "runtime/core/fault.h"
#include "runtime/op/op_def.h"
#include "schema/bundle_file.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// The parts of a bundle, in place.
struct BundleSections {
  const fb::Bundle* bundle = nullptr;
  Span<const uint8_t> metadata;
  Span<const uint8_t> constants;
  Span<const uint8_t> samples;

  /// Returns the offset of a part of the metadata.
  size_t place_of(const void* part) const {
    return static_cast<size_t>(static_cast<const uint8_t*>(part) - metadata.data());
  }
};

/// Returns the checksum of the file's prolog, which covers the checksums of metadata and data.
/// REQUIRES: read_sections() filled `sections`.
uint64_t prolog_checksum_of(const BundleSections& sections);

/// Checks the prolog, the checksums and the FlatBuffer's structure, but not yet what the tables
/// say.
Fault read_sections(Span<const uint8_t> file, bool check_data, BundleSections* out);

/// Checks the structure of a method and its variants: no offset in it leads outside of the
/// metadata. REQUIRES: `method` is where a method was in metadata whose structure was checked.
Fault check_method_structure(Span<const uint8_t> metadata, const fb::Method& method);

/// Number of elements of a vector that may be absent.
template <class V>
size_t count_of(const V* vector) {
  return vector == nullptr ? 0 : vector->size();
}
/// A string that may be absent.
inline const char* text_of(const flatbuffers::String* s) { return s == nullptr ? "" : s->c_str(); }

/// Whether the elements may be read in place. FlatBuffers checks the alignment of a vector's
/// length, but not of its 64-bit elements.
template <class T>
bool is_aligned(const flatbuffers::Vector<T>* v) {
  return v == nullptr || reinterpret_cast<uintptr_t>(v->Data()) % alignof(T) == 0;
}

/// The elements of an int vector that may be absent.
inline Span<const int32_t> ints_of(const flatbuffers::Vector<int32_t>* v) {
  return v == nullptr ? Span<const int32_t>() : Span<const int32_t>(v->data(), v->size());
}

inline DType dtype_of(fb::DType t) { return static_cast<DType>(t); }
/// REQUIRES: at most kMaxRank extents.
Shape shape_of(const flatbuffers::Vector<int64_t>* v);
/// Returns the symbol that a dim of a value is, or -1. REQUIRES: symbols was verified.
inline int32_t symbol_of(const fb::Value& value, int dim) {
  const auto indices = ints_of(value.symbols());
  return dim >= 0 && static_cast<size_t>(dim) < indices.size() ? indices[static_cast<size_t>(dim)]
                                                               : -1;
}
using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
/// A field of a table that is a vector of tables.
inline const Tables* tables_of(const void* owner, flatbuffers::voffset_t field) {
  auto* table = const_cast<flatbuffers::Table*>(static_cast<const flatbuffers::Table*>(owner));
  return table->GetPointer<const Tables*>(field);
}
/// Returns element number i of such a vector. REQUIRES: it exists.
inline const void* table_at(const void* owner, flatbuffers::voffset_t field, uint32_t i) {
  return tables_of(owner, field)->Get(i);
}

// Returns a part of a method by its number. REQUIRES: it exists.
#define LAZYRT_PART(Table, part, FIELD)                                  \
  template <class Index>                                                 \
  const fb::Table& part##_at(const fb::Method& method, Index i) {        \
    return *static_cast<const fb::Table*>(                               \
        table_at(&method, fb::Method::FIELD, static_cast<uint32_t>(i))); \
  }
LAZYRT_PART(Value, value, VT_VALUES)
LAZYRT_PART(Node, node, VT_NODES)
LAZYRT_PART(Binding, input, VT_INPUTS)
LAZYRT_PART(Binding, output, VT_OUTPUTS)
LAZYRT_PART(Literal, literal, VT_LITERALS)
LAZYRT_PART(State, state, VT_STATES)
LAZYRT_PART(Symbol, symbol, VT_SYMBOLS)
LAZYRT_PART(Guard, guard, VT_GUARDS)
LAZYRT_PART(Source, source, VT_SOURCES)
LAZYRT_PART(Method, variant, VT_VARIANTS)
#undef LAZYRT_PART

inline const char* input_name(const fb::Method& method, size_t i) {
  return text_of(input_at(method, i).name());
}
inline const char* output_name(const fb::Method& method, size_t i) {
  return text_of(output_at(method, i).name());
}
/// The values that a node reads and makes.
Span<const int32_t> inputs_of(const fb::Node& node);
Span<const int32_t> outputs_of(const fb::Node& node);
inline OpAttrs attrs_of(const fb::Node& node) { return {node.op_type(), node.op()}; }

/// dtype and shape of a value whose Value table was verified.
TensorSpec spec_of(const fb::Value& value);
/// The same with memory.
TensorView view_of(const fb::Value& value, const void* data);

/// "model.py:12" (the file's end where it is long), or empty where `source` is -1 or has no file.
struct SourcePlace {
  char text[56];
};
SourcePlace source_place(const fb::Method& method, int32_t source);

/// "method 'forward', node 12 (conv2d from model.py:33)": where a message about a node points.
struct NodePlace {
  char text[LAZYRT_MESSAGES != 0 ? 164 : 1];
  const char* op = "";           ///< as the operators' table lives
  const char* module_path = "";  ///< as the bundle lives

  Fault of(size_t node, Fault fault) const { return fault.at_node(node, text, op, module_path); }
};
NodePlace node_place(const fb::Method& method, size_t node, const OpTable& ops);

}  // namespace lazyrt
