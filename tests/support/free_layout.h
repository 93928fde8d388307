#pragma once

// Metadata as a hostile producer may lay it out: FlatBufferBuilder decides where tables lie, and
// that vtables have no more slots than the schema.

#include <cstdint>
#include <functional>
#include <vector>

#include "flatbuffers/minireflect.h"
#include "lazyrt/span.h"
#include "schema/bundle_generated.h"

namespace lazyrt::test {

/// Returns one of 0 .. n-1: which of n parts lies first.
using ChooseFirst = std::function<size_t(size_t n)>;

/// Lays the metadata out anew: each part of a table lies behind it, in the order of the schema or
/// as `first` chooses. Every table gets a vtable of its own, those of operators' attributes with
/// `spare_slots` empty slots behind the schema's. REQUIRES: `metadata` is a FlatBuffer of the
/// schema without shared tables.
std::vector<uint8_t> lay_out(Span<const uint8_t> metadata, size_t spare_slots,
                             const ChooseFirst& first = nullptr);

/// The fields of an operator's attributes. REQUIRES: NONE < kind <= MAX.
const flatbuffers::TypeTable& attributes_type(fb::OpAttrs kind);

/// The method's program of this number: itself, then its variants.
const fb::Method& variant_in(const std::vector<uint8_t>& metadata, size_t method, size_t variant);

/// Whether a slot of the table can lead to this place: a slot counts 16 bits, forwards.
bool is_in_reach(const void* table, const void* place);
/// Makes field `slot` of the table the bytes at `place`. REQUIRES: both lie in `metadata`, the
/// vtable has the slot, and the place is in reach.
void lead_slot(std::vector<uint8_t>* metadata, const void* table, size_t slot, const void* place);

/// Terms of a method whose last one is a number that changes at one size.
struct Switch {
  int at = 0, otherwise = 0, change = 0;
  int term = 0;  ///< what a patch names
};
/// Appends them, all numbers 0. REQUIRES: the method has this symbol.
Switch add_switch(fb::MethodT* method, int symbol = 0);
/// `then` where the symbol is `size`, else `otherwise`.
void set_switch(std::vector<uint8_t>* metadata, const fb::Method& method, const Switch& numbers,
                int64_t size, int64_t then, int64_t otherwise);

}  // namespace lazyrt::test
