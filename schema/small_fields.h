#pragma once

// Reads FlatBuffers' tables by calls instead of inline code, for programs that have to be small:
// the build includes this file before everything else if it optimizes for size.

#include "flatbuffers/flatbuffers.h"

#define LAZYRT_CALLED __attribute__((noinline)) inline

namespace lazyrt::fb {

struct Binding;
struct Blob;
struct Guard;
struct KeyValue;
struct Literal;
struct Method;
struct Node;
struct Patch;
struct Sample;
struct Source;
struct State;
struct Symbol;
struct Term;
struct Value;

/// A vector or string without elements: its count is at kEmpty + 4, what is behind it is aligned.
alignas(8) inline constexpr uint8_t kEmpty[12] = {};

/// Returns what an offset leads to: a vector or a string, or an empty one if the field is not
/// stored, so that no caller has to ask.
__attribute__((returns_nonnull)) LAZYRT_CALLED const uint8_t* follow(
    const flatbuffers::Table* table, flatbuffers::voffset_t field) {
  const uint8_t* at = table->GetAddressOf(field);
  return at == nullptr ? kEmpty + 4 : at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
}

}  // namespace lazyrt::fb

namespace flatbuffers {

#define LAZYRT_NUMBER(type)                                                         \
  template <>                                                                       \
  LAZYRT_CALLED type Table::GetField<type>(voffset_t field, type otherwise) const { \
    const uint8_t* at = GetAddressOf(field);                                        \
    return at == nullptr ? otherwise : ReadScalar<type>(at);                        \
  }
LAZYRT_NUMBER(uint8_t)
LAZYRT_NUMBER(int32_t)
LAZYRT_NUMBER(uint32_t)
LAZYRT_NUMBER(int64_t)
LAZYRT_NUMBER(uint64_t)
LAZYRT_NUMBER(float)
LAZYRT_NUMBER(double)
#undef LAZYRT_NUMBER

#define LAZYRT_POINTER(...)                                                          \
  template <>                                                                        \
  inline const __VA_ARGS__* Table::GetPointer<const __VA_ARGS__*>(voffset_t field) { \
    return reinterpret_cast<const __VA_ARGS__*>(lazyrt::fb::follow(this, field));    \
  }
#define LAZYRT_TABLES(table) LAZYRT_POINTER(Vector<Offset<lazyrt::fb::table>>)
LAZYRT_POINTER(String)
LAZYRT_POINTER(Vector<Offset<Table>>)
LAZYRT_POINTER(Vector<int32_t>)
LAZYRT_POINTER(Vector<int64_t>)
LAZYRT_POINTER(Vector<const lazyrt::fb::Patch*>)
LAZYRT_POINTER(Vector<const lazyrt::fb::Term*>)
LAZYRT_TABLES(Binding)
LAZYRT_TABLES(Blob)
LAZYRT_TABLES(Guard)
LAZYRT_TABLES(KeyValue)
LAZYRT_TABLES(Literal)
LAZYRT_TABLES(Method)
LAZYRT_TABLES(Node)
LAZYRT_TABLES(Sample)
LAZYRT_TABLES(Source)
LAZYRT_TABLES(State)
LAZYRT_TABLES(Symbol)
LAZYRT_TABLES(Value)
#undef LAZYRT_TABLES
#undef LAZYRT_POINTER
#undef LAZYRT_CALLED

}  // namespace flatbuffers
