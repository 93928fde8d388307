#include "tests/support/reflect.h"

namespace lazyrt::test {
namespace {

using flatbuffers::ElementaryType;
using flatbuffers::TypeTable;

const TypeTable* table_of(const TypeTable* type, size_t field) {
  const flatbuffers::TypeCode code = type->type_codes[field];
  return code.sequence_ref < 0 ? nullptr : type->type_refs[code.sequence_ref]();
}

bool is_table(const TypeTable* type, size_t field) {
  const TypeTable* ref = table_of(type, field);
  return ref != nullptr && ref->st == flatbuffers::ST_TABLE &&
         type->type_codes[field].base_type == flatbuffers::ET_SEQUENCE;
}

bool is_union(const TypeTable* type, size_t field) {
  const TypeTable* ref = table_of(type, field);
  return ref != nullptr && ref->st == flatbuffers::ST_UNION &&
         type->type_codes[field].base_type == flatbuffers::ET_SEQUENCE;
}

void collect(const TypeTable* type, const std::string& prefix, std::set<const TypeTable*> above,
             std::vector<std::string>* out) {
  if (!above.insert(type).second) return;
  for (size_t i = 0; i < type->num_elems; ++i) {
    const std::string path = prefix + type->names[i];
    out->push_back(path);
    if (is_table(type, i)) collect(table_of(type, i), path + ".", above, out);
  }
}

uint8_t* follow(uint8_t* where) {
  return where + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(where);
}

class Visitor {
 public:
  explicit Visitor(const std::function<void(const FieldAt&)>& visit) : visit_(visit) {}

  void table(uint8_t* data, const TypeTable* type, const std::string& prefix) {
    const auto* t = reinterpret_cast<flatbuffers::Table*>(data);
    uint8_t union_kind = 0;
    for (size_t i = 0; i < type->num_elems; ++i) {
      const auto slot = static_cast<flatbuffers::voffset_t>(4 + 2 * i);
      const auto offset = t->GetOptionalFieldOffset(slot);
      if (offset == 0) continue;
      field(data + offset, type, i, prefix, union_kind);
      union_kind = data[offset];
    }
  }

 private:
  void field(uint8_t* where, const TypeTable* type, size_t i, const std::string& prefix,
             uint8_t kind) {
    const flatbuffers::TypeCode code = type->type_codes[i];
    FieldAt at;
    at.path = prefix + type->names[i];
    at.type = static_cast<ElementaryType>(code.base_type);
    at.is_vector = code.is_repeating != 0;
    at.is_offset = at.is_vector || scalar_bytes(at.type) == 0;
    at.where = where;
    visit_(at);
    if (is_union(type, i)) {
      const TypeTable* members = table_of(type, i);
      if (kind < members->num_elems && kind != 0) {
        const auto ref = members->type_codes[kind].sequence_ref;
        table(follow(where), members->type_refs[ref](), at.path + ".");
      }
    } else if (is_table(type, i)) {
      if (!at.is_vector) return table(follow(where), table_of(type, i), at.path + ".");
      uint8_t* vector = follow(where);
      const auto count = flatbuffers::ReadScalar<uint32_t>(vector);
      for (uint32_t k = 0; k < count; ++k)
        table(follow(vector + 4 + 4 * k), table_of(type, i), at.path + ".");
    }
  }

  const std::function<void(const FieldAt&)>& visit_;
};

}  // namespace

size_t scalar_bytes(ElementaryType type) {
  switch (type) {
    case flatbuffers::ET_UTYPE:
    case flatbuffers::ET_BOOL:
    case flatbuffers::ET_CHAR:
    case flatbuffers::ET_UCHAR:
      return 1;
    case flatbuffers::ET_SHORT:
    case flatbuffers::ET_USHORT:
      return 2;
    case flatbuffers::ET_INT:
    case flatbuffers::ET_UINT:
    case flatbuffers::ET_FLOAT:
      return 4;
    case flatbuffers::ET_LONG:
    case flatbuffers::ET_ULONG:
    case flatbuffers::ET_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

std::vector<std::string> field_paths(const TypeTable* type) {
  std::vector<std::string> out;
  collect(type, "", {}, &out);
  return out;
}

void visit_fields(uint8_t* data, const TypeTable* type,
                  const std::function<void(const FieldAt&)>& visit) {
  Visitor(visit).table(data, type, "");
}

}  // namespace lazyrt::test
