#include "host_tracer/graph/attr_fields.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

/// Calls fn(T()) with the C++ type of a scalar; nothing for texts and tables.
template <class Fn>
void visit_scalar(fbs::ElementaryType type, const Fn& fn) {
  switch (type) {
    case fbs::ET_UTYPE:
    case fbs::ET_BOOL:
    case fbs::ET_UCHAR:
      return fn(uint8_t());
    case fbs::ET_CHAR:
      return fn(int8_t());
    case fbs::ET_SHORT:
      return fn(int16_t());
    case fbs::ET_USHORT:
      return fn(uint16_t());
    case fbs::ET_INT:
      return fn(int32_t());
    case fbs::ET_UINT:
      return fn(uint32_t());
    case fbs::ET_LONG:
      return fn(int64_t());
    case fbs::ET_ULONG:
      return fn(uint64_t());
    case fbs::ET_FLOAT:
      return fn(float());
    case fbs::ET_DOUBLE:
      return fn(double());
    default:
      return;
  }
}

/// A table with all its fields in place, defaults too.
std::vector<uint8_t> with_all_fields(const Attrs& attrs) {
  fbs::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.Finish(fbs::Offset<fbs::Table>(attrs.unpack().Pack(builder).o));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

fbs::voffset_t offset_of(size_t field) {
  return fbs::FieldIndexToOffset(static_cast<fbs::voffset_t>(field));
}

void read_elements(const uint8_t* at, size_t count, AttrField* field) {
  visit_scalar(field->type, [&](auto element) {
    using T = decltype(element);
    for (size_t i = 0; i < count; ++i, at += sizeof(T)) {
      const T value = fbs::ReadScalar<T>(at);
      if (field->is_real()) {
        field->reals.push_back(static_cast<double>(value));
      } else {
        field->integers.push_back(static_cast<int64_t>(value));
      }
    }
  });
}

void read(const uint8_t* at, AttrField* field) {
  if (at == nullptr) return;  // an absent vector or text is empty
  if (!field->is_vector && field->type != fbs::ET_STRING) return read_elements(at, 1, field);
  at += fbs::ReadScalar<fbs::uoffset_t>(at);
  const auto size = fbs::ReadScalar<fbs::uoffset_t>(at);
  at += sizeof(fbs::uoffset_t);
  if (field->type == fbs::ET_STRING) {
    field->string.assign(reinterpret_cast<const char*>(at), size);
  } else {
    read_elements(at, size, field);
  }
}

template <class T>
std::vector<T> elements_as(const AttrField& field) {
  std::vector<T> list;
  for (int64_t x : field.integers) list.push_back(static_cast<T>(x));
  for (double x : field.reals) list.push_back(static_cast<T>(x));
  return list;
}

/// The offset of what lies outside of the table, 0 for scalars.
fbs::uoffset_t outside(fbs::FlatBufferBuilder* builder, const AttrField& field) {
  fbs::uoffset_t offset = 0;
  if (field.type == fbs::ET_STRING) return builder->CreateString(field.string).o;
  if (!field.is_vector) return offset;
  visit_scalar(field.type, [&](auto element) {
    offset = builder->CreateVector(elements_as<decltype(element)>(field)).o;
  });
  return offset;
}

const char* enum_name(const AttrField& field, int64_t value) {
  const bool known =
      field.names != nullptr && value >= 0 && static_cast<size_t>(value) < field.names->num_elems;
  return known ? field.names->names[value] : nullptr;
}

std::string element_text(const AttrField& field, size_t i) {
  if (field.is_real()) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.9g", field.reals[i]);
    return buffer;
  }
  const int64_t value = field.integers[i];
  if (field.type == fbs::ET_BOOL) return value != 0 ? "true" : "false";
  const char* name = enum_name(field, value);
  return name != nullptr ? name : std::to_string(value);
}

bool fits(fbs::ElementaryType type, int64_t value) {
  bool inside = false;
  visit_scalar(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      inside = true;
    } else if constexpr (std::is_integral_v<T>) {
      inside = value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
               value <= static_cast<int64_t>(std::numeric_limits<T>::max());
    }
  });
  return inside;
}

std::optional<int64_t> parse_integer(const AttrField& field, const std::string& text) {
  if (field.type == fbs::ET_BOOL) {
    if (text == "true" || text == "false") return text == "true" ? 1 : 0;
    return std::nullopt;
  }
  for (size_t i = 0; field.names != nullptr && i < field.names->num_elems; ++i) {
    if (text == field.names->names[i]) return static_cast<int64_t>(i);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || field.names != nullptr || !fits(field.type, value)) return std::nullopt;
  return value;
}

bool parse_element(const std::string& text, AttrField* field) {
  if (field->is_real()) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return false;
    field->reals.push_back(value);
    return true;
  }
  const std::optional<int64_t> value = parse_integer(*field, text);
  if (value) field->integers.push_back(*value);
  return value.has_value();
}

/// Reads what AttrField::text writes.
bool parse(const std::string& text, AttrField* field) {
  field->integers.clear();
  field->reals.clear();
  const bool bracketed = text.size() >= 2 && text.front() == (field->is_vector ? '[' : '"') &&
                         text.back() == (field->is_vector ? ']' : '"');
  if (field->type == fbs::ET_STRING && !field->is_vector) {
    if (bracketed) field->string = text.substr(1, text.size() - 2);
    return bracketed;
  }
  if (!field->is_vector) return parse_element(text, field);
  if (!bracketed) return false;
  for (size_t at = 1; at + 1 < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size() - 1);
    if (!parse_element(text.substr(at, end - at), field)) return false;
    at = end + 1;
  }
  return true;
}

std::string choices(const AttrField& field) {
  if (field.names == nullptr) return "";
  std::string list;
  for (size_t i = 0; i < field.names->num_elems; ++i) {
    list += (i > 0 ? ", " : ": one of ") + std::string(field.names->names[i]);
  }
  return list;
}

}  // namespace

std::string AttrField::text() const {
  if (type == fbs::ET_STRING) return '"' + string + '"';
  if (!is_vector) return element_text(*this, 0);
  std::string list = "[";
  for (size_t i = 0; i < integers.size() + reals.size(); ++i) {
    list += (i > 0 ? "," : "") + element_text(*this, i);
  }
  return list + "]";
}

std::vector<AttrField> attr_fields(const Attrs& attrs) {
  std::vector<AttrField> fields;
  if (attrs.kind() == fb::OpAttrs::NONE) return fields;
  const std::vector<uint8_t> bytes = with_all_fields(attrs);
  const auto* table = fbs::GetRoot<fbs::Table>(bytes.data());
  const auto* own = static_cast<const fbs::Table*>(attrs.view().table);
  const fbs::TypeTable* types = attrs_type_table(attrs.kind());
  for (size_t i = 0; i < types->num_elems; ++i) {
    const fbs::TypeCode& code = types->type_codes[i];
    AttrField field;
    field.name = types->names[i];
    field.type = static_cast<fbs::ElementaryType>(code.base_type);
    field.is_vector = code.is_repeating != 0;
    if (code.sequence_ref >= 0) field.names = types->type_refs[code.sequence_ref]();
    field.given = own->CheckField(offset_of(i)) || (field.names != nullptr && !field.is_vector);
    read(table->GetAddressOf(offset_of(i)), &field);
    fields.push_back(std::move(field));
  }
  return fields;
}

Attrs attrs_of(fb::OpAttrs kind, const std::vector<AttrField>& fields) {
  fbs::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  std::vector<fbs::uoffset_t> offsets;
  for (const AttrField& field : fields) offsets.push_back(outside(&builder, field));
  const fbs::uoffset_t start = builder.StartTable();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (offsets[i] != 0) {
      builder.AddOffset(offset_of(i), fbs::Offset<void>(offsets[i]));
      continue;
    }
    visit_scalar(fields[i].type, [&](auto element) {
      using T = decltype(element);
      builder.AddElement<T>(offset_of(i), elements_as<T>(fields[i])[0], T());
    });
  }
  builder.Finish(fbs::Offset<fbs::Table>(builder.EndTable(start)));
  fb::OpAttrsUnion made;
  made.type = kind;
  made.value =
      fb::OpAttrsUnion::UnPack(fbs::GetRoot<fbs::Table>(builder.GetBufferPointer()), kind, nullptr);
  return Attrs(made);
}

Outcome<Attrs> with_attribute(const Attrs& attrs, const std::string& name,
                              const std::string& text) {
  std::vector<AttrField> fields = attr_fields(attrs);
  std::string known;
  for (AttrField& field : fields) {
    known += (known.empty() ? "" : ", ") + field.name;
    if (field.name != name) continue;
    if (parse(text, &field)) return attrs_of(attrs.kind(), fields);
    std::string why = std::string(attrs.name()) + ": " + name;
    why.append(" cannot be '").append(text).append("'").append(choices(field));
    return Failure{Error::kInvalidArgument, std::move(why)};
  }
  std::string why = attrs.name();
  why.append(" has no attribute '").append(name).append("', but ");
  why.append(known.empty() ? "none" : known);
  return Failure{Error::kInvalidArgument, std::move(why)};
}

}  // namespace lazyrt
