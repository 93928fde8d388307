#include "host_tracer/graph/attr_numbers.h"

#include <optional>

#include "host_tracer/graph/attr_fields.h"

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

std::optional<fb::FieldType> number_type(const AttrField& field) {
  if (field.names != nullptr) return std::nullopt;
  switch (field.type) {
    case fbs::ET_INT:
      return fb::FieldType::Int32;
    case fbs::ET_LONG:
      return fb::FieldType::Int64;
    case fbs::ET_FLOAT:
      return fb::FieldType::Float32;
    case fbs::ET_DOUBLE:
      return fb::FieldType::Float64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<AttrNumber> attr_numbers(const Attrs& attrs) {
  std::vector<AttrNumber> numbers;
  const std::vector<AttrField> fields = attr_fields(attrs);
  for (size_t f = 0; f < fields.size(); ++f) {
    const AttrField& field = fields[f];
    const std::optional<fb::FieldType> type = number_type(field);
    const size_t count = type ? field.integers.size() + field.reals.size() : 0;
    for (size_t i = 0; i < count; ++i) {
      AttrNumber number;
      number.field = static_cast<int32_t>(f);
      number.index = field.is_vector ? static_cast<int32_t>(i) : -1;
      number.type = *type;
      if (field.is_real()) {
        number.real = field.reals[i];
      } else {
        number.integer = field.integers[i];
      }
      numbers.push_back(number);
    }
  }
  return numbers;
}

Attrs with_numbers(const Attrs& attrs, const std::vector<AttrNumber>& numbers) {
  if (numbers.empty()) return attrs;
  std::vector<AttrField> fields = attr_fields(attrs);
  for (const AttrNumber& number : numbers) {
    AttrField& field = fields[static_cast<size_t>(number.field)];
    const auto i = static_cast<size_t>(number.index < 0 ? 0 : number.index);
    if (field.is_real()) {
      field.reals[i] = number.real;
    } else {
      field.integers[i] = number.integer;
    }
  }
  return attrs_of(attrs.kind(), fields);
}

}  // namespace lazyrt
