#pragma once

// What the schema's tables consist of, in a few bytes each: flatc's reflection of the types,
// computed when the program is compiled.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "lazyrt/span.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// A field of a table: what it is, and its size.
class Field {
 public:
  enum class Kind : uint8_t { kNumber, kString, kNumbers, kStructs, kTable, kTables, kUnion };

  constexpr Field() = default;
  constexpr Field(Kind kind, size_t size) : code_(static_cast<uint8_t>(kind) << 5 | size) {}

  constexpr Kind kind() const { return static_cast<Kind>(code_ >> 5); }
  constexpr bool is_number() const { return kind() == Kind::kNumber; }
  /// log2 of the bytes of a number, the bytes of a struct / 4, or the number of the table that the
  /// field leads to.
  constexpr size_t size() const { return code_ & 31; }
  /// Of a number, or an element of a vector.
  constexpr size_t bytes() const {
    return kind() == Kind::kStructs ? 4 * size() : size_t{1} << size();
  }
  /// The number in the field before it says which table a union holds.
  constexpr bool has_table() const { return kind() == Kind::kTable || kind() == Kind::kTables; }

 private:
  uint8_t code_ = 0;
};

/// Of one table: a field is a bit of 32.
constexpr size_t kMostFields = 32;

/// The slot of a field in vtables.
constexpr flatbuffers::voffset_t slot_of(size_t field) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
}

namespace layout {

template <class T>
constexpr size_t log2_of() {
  return sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
}

// Of the type that an accessor answers, and the table behind it.

template <class T>
struct Of {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
  static constexpr Field kField{Field::Kind::kNumber, log2_of<T>()};
  using Table = void;
};
template <class T>
struct Of<const T*> {
  static constexpr Field kField{Field::Kind::kTable, 0};
  using Table = T;
};
template <>
struct Of<const void*> {
  static constexpr Field kField{Field::Kind::kUnion, 0};
  using Table = void;
};
template <>
struct Of<const flatbuffers::String*> {
  static constexpr Field kField{Field::Kind::kString, 0};
  using Table = void;
};
template <class T>
struct Of<const flatbuffers::Vector<T>*> {
  static_assert(std::is_arithmetic_v<T>);
  static constexpr Field kField{Field::Kind::kNumbers, log2_of<T>()};
  using Table = void;
};
template <class T>
struct Of<const flatbuffers::Vector<const T*>*> {
  static_assert(sizeof(T) % 4 == 0 && sizeof(T) < 128);
  static constexpr Field kField{Field::Kind::kStructs, sizeof(T) / 4};
  using Table = void;
};
template <class T>
struct Of<const flatbuffers::Vector<flatbuffers::Offset<T>>*> {
  static constexpr Field kField{Field::Kind::kTables, 0};
  using Table = T;
};

template <class Table, size_t I>
using FieldOf = Of<decltype(std::declval<const Table&>().template get_field<I>())>;

template <class Table>
constexpr size_t field_count() {
  return Table::Traits::fields_number;
}

}  // namespace layout

/// The fields of several tables, one table behind the other. A field that leads to a table names it
/// by its number in this list.
template <class... Tables>
class TableFields {
 public:
  constexpr TableFields() { (add<Tables>(std::make_index_sequence<count<Tables>()>()), ...); }

  template <class Table>
  static constexpr size_t number_of() {
    constexpr bool kIsIt[] = {std::is_same_v<Table, Tables>...};
    size_t number = 0;
    while (!kIsIt[number]) ++number;
    return number;
  }
  /// REQUIRES: there is a table of this number.
  constexpr Span<const Field> of(size_t number) const {
    return {fields_ + begin_[number], size_t{begin_[number + 1]} - begin_[number]};
  }

 private:
  template <class Table>
  static constexpr size_t count() {
    static_assert(layout::field_count<Table>() <= kMostFields);
    return layout::field_count<Table>();
  }
  template <class Table, size_t I>
  static constexpr Field field() {
    using Of = layout::FieldOf<Table, I>;
    if constexpr (std::is_void_v<typename Of::Table>)
      return Of::kField;
    else
      return Field(Of::kField.kind(), number_of<typename Of::Table>());
  }
  template <class Table, size_t... I>
  constexpr void add(std::index_sequence<I...>) {
    constexpr size_t kNumber = number_of<Table>();
    const size_t begin = begin_[kNumber];
    ((fields_[begin + I] = field<Table, I>()), ...);
    begin_[kNumber + 1] = static_cast<uint8_t>(begin + sizeof...(I));
  }

  static constexpr size_t kCount = (count<Tables>() + ...);
  static_assert(kCount <= UINT8_MAX);
  Field fields_[kCount] = {};
  uint8_t begin_[sizeof...(Tables) + 1] = {};
};

/// The fields of an operator's attributes: numbers, strings and vectors of numbers only.
/// REQUIRES: NONE < kind <= MAX.
Span<const Field> fields_of(fb::OpAttrs kind);

}  // namespace lazyrt
