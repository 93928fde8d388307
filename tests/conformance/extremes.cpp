#include "tests/conformance/extremes.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "flatbuffers/minireflect.h"

namespace lazyrt {
namespace {

constexpr int64_t kIntegers[kExtremes] = {0,
                                          1,
                                          2,
                                          3,
                                          -1,
                                          7,
                                          INT32_MAX,
                                          INT32_MIN,
                                          INT64_MAX,
                                          INT64_MIN,
                                          int64_t{1} << 31,
                                          int64_t{1} << 62,
                                          255,
                                          8};
constexpr double kReals[kExtremes] = {0,   -1,     1e300, -1e300,  0.5,     HUGE_VAL, -HUGE_VAL,
                                      NAN, 1e-300, 1,     FLT_MAX, FLT_MIN, -0.0,     1e19};
/// Of an integer of `bits`: a full byte pattern of it.
int64_t end_of_range(size_t i, int bits) {
  const int64_t highest = static_cast<int64_t>(UINT64_MAX >> 1 >> (64 - bits));
  const int64_t ends[] = {highest, -highest - 1, -1, 0, 1, highest - 1};
  return ends[i % std::size(ends)];
}

}  // namespace

std::vector<AttributeSlot> attribute_slots(PackedAttrs* attrs) {
  std::vector<AttributeSlot> slots;
  const flatbuffers::TypeTable* type = attrs->type();
  for (size_t i = 0; i < type->num_elems; ++i) {
    const auto element = static_cast<flatbuffers::ElementaryType>(type->type_codes[i].base_type);
    uint8_t* at = attrs->mutable_table()->GetAddressOf(
        flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i)));
    if (at == nullptr) continue;
    if (!type->type_codes[i].is_repeating) {
      slots.push_back({type->names[i], element, at});
      continue;
    }
    uint8_t* list = at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
    const auto length = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(list);
    const size_t width = element == flatbuffers::ET_LONG ? 8 : 4;
    for (size_t k = 0; k < length; ++k) {
      slots.push_back({type->names[i], element, list + 4 + k * width});
    }
  }
  return slots;
}

int64_t extreme_integer(size_t i) { return kIntegers[i]; }

void write_extreme(const AttributeSlot& slot, size_t i) {
  switch (slot.type) {
    case flatbuffers::ET_BOOL:
      return flatbuffers::WriteScalar(slot.at, static_cast<uint8_t>(kIntegers[i] & 1));
    case flatbuffers::ET_UCHAR:
      return flatbuffers::WriteScalar(slot.at, static_cast<uint8_t>(kIntegers[i]));
    case flatbuffers::ET_INT:
      return flatbuffers::WriteScalar(slot.at, static_cast<int32_t>(kIntegers[i]));
    case flatbuffers::ET_LONG:
      return flatbuffers::WriteScalar(slot.at, kIntegers[i]);
    case flatbuffers::ET_FLOAT:
      return flatbuffers::WriteScalar(slot.at, static_cast<float>(kReals[i]));
    case flatbuffers::ET_DOUBLE:
      return flatbuffers::WriteScalar(slot.at, kReals[i]);
    default:
      std::abort();  // a type of attribute that this does not know
  }
}

void fill_with_extremes(const GuardedTensor& tensor, size_t first) {
  const TensorView& view = tensor.view();
  if (view.dtype == DType::kNone) return;
  const size_t size = dtype_size(view.dtype);
  GuardedTensor one(view.dtype, Shape{1});
  for (int64_t k = 0; k < view.numel(); ++k) {
    const size_t i = (first + static_cast<size_t>(k) * 5) % 97;
    const int64_t integer =
        view.dtype == DType::kBool ? i % 2 : end_of_range(i, static_cast<int>(size) * 8);
    if (is_floating(view.dtype)) {
      one.set(0, kReals[i % kExtremes]);
    } else {
      std::memcpy(one.view().data, &integer, size);
    }
    std::memcpy(static_cast<uint8_t*>(view.data) + static_cast<size_t>(k) * size, one.view().data,
                size);
  }
}

}  // namespace lazyrt
