#include "host_tracer/graph/attr_numbers.h"

#include <optional>

#include "flatbuffers/minireflect.h"

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

/// A table with all its fields in place, defaults too.
std::vector<uint8_t> with_all_fields(const Attrs& attrs) {
  fbs::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.Finish(fbs::Offset<fbs::Table>(attrs.unpack().Pack(builder).o));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::optional<fb::FieldType> number_type(const fbs::TypeCode& code) {
  if (code.sequence_ref >= 0) return std::nullopt;  // an enum
  switch (static_cast<fbs::ElementaryType>(code.base_type)) {
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

size_t width_of(fb::FieldType type) {
  return type == fb::FieldType::Int32 || type == fb::FieldType::Float32 ? 4 : 8;
}

void read(const uint8_t* at, AttrNumber* number) {
  switch (number->type) {
    case fb::FieldType::Int32:
      number->integer = fbs::ReadScalar<int32_t>(at);
      break;
    case fb::FieldType::Int64:
      number->integer = fbs::ReadScalar<int64_t>(at);
      break;
    case fb::FieldType::Float32:
      number->real = static_cast<double>(fbs::ReadScalar<float>(at));
      break;
    case fb::FieldType::Float64:
      number->real = fbs::ReadScalar<double>(at);
      break;
  }
}

void write(uint8_t* at, const AttrNumber& number) {
  switch (number.type) {
    case fb::FieldType::Int32:
      fbs::WriteScalar(at, static_cast<int32_t>(number.integer));
      break;
    case fb::FieldType::Int64:
      fbs::WriteScalar(at, number.integer);
      break;
    case fb::FieldType::Float32:
      fbs::WriteScalar(at, static_cast<float>(number.real));
      break;
    case fb::FieldType::Float64:
      fbs::WriteScalar(at, number.real);
      break;
  }
}

/// Calls fn(place, number) for each number; the number's value is not read yet.
template <class Fn>
void for_each_number(fb::OpAttrs kind, std::vector<uint8_t>& bytes, const Fn& fn) {
  auto* table = fbs::GetMutableRoot<fbs::Table>(bytes.data());
  const fbs::TypeTable* types = attrs_type_table(kind);
  for (size_t field = 0; field < types->num_elems; ++field) {
    const auto type = number_type(types->type_codes[field]);
    uint8_t* at = table->GetAddressOf(fbs::FieldIndexToOffset(static_cast<fbs::voffset_t>(field)));
    if (!type || at == nullptr) continue;
    AttrNumber number;
    number.field = static_cast<int32_t>(field);
    number.type = *type;
    if (types->type_codes[field].is_repeating == 0) {
      fn(at, number);
      continue;
    }
    at += fbs::ReadScalar<fbs::uoffset_t>(at);
    const auto size = fbs::ReadScalar<fbs::uoffset_t>(at);
    at += sizeof(fbs::uoffset_t);
    for (fbs::uoffset_t i = 0; i < size; ++i, at += width_of(*type)) {
      number.index = static_cast<int32_t>(i);
      fn(at, number);
    }
  }
}

}  // namespace

std::vector<AttrNumber> attr_numbers(const Attrs& attrs) {
  std::vector<AttrNumber> numbers;
  if (attrs.kind() == fb::OpAttrs::NONE) return numbers;
  std::vector<uint8_t> bytes = with_all_fields(attrs);
  for_each_number(attrs.kind(), bytes, [&](const uint8_t* at, AttrNumber number) {
    read(at, &number);
    numbers.push_back(number);
  });
  return numbers;
}

Attrs with_numbers(const Attrs& attrs, const std::vector<AttrNumber>& numbers) {
  if (numbers.empty()) return attrs;
  std::vector<uint8_t> bytes = with_all_fields(attrs);
  for_each_number(attrs.kind(), bytes, [&](uint8_t* at, const AttrNumber& place) {
    for (const AttrNumber& number : numbers) {
      if (number.field == place.field && number.index == place.index) write(at, number);
    }
  });
  fb::OpAttrsUnion made;
  made.type = attrs.kind();
  made.value = fb::OpAttrsUnion::UnPack(fbs::GetRoot<fbs::Table>(bytes.data()), made.type, nullptr);
  return Attrs(made);
}

}  // namespace lazyrt
