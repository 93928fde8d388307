#include "runtime/op/table_layout.h"

namespace lazyrt {
namespace {

constexpr size_t kKinds = static_cast<size_t>(fb::OpAttrs::MAX) + 1;

constexpr size_t count_fields() {
  size_t count = 0;
#define LAZYRT_MEMBER(name) count += layout::field_count<fb::name>();
#include "schema/op_tables.inc"
#undef LAZYRT_MEMBER
  return count;
}

/// Those of all operators, one behind the other.
struct AllFields {
  Field fields[count_fields()] = {};
  uint8_t begin[kKinds + 1] = {};
};
static_assert(count_fields() <= UINT8_MAX);

template <class Table, size_t... I>
constexpr void add(AllFields* all, size_t kind, std::index_sequence<I...>) {
  static_assert(sizeof...(I) <= kMostFields);
  const size_t begin = all->begin[kind];
  ((all->fields[begin + I] = layout::FieldOf<Table, I>::kField), ...);
  all->begin[kind + 1] = static_cast<uint8_t>(begin + sizeof...(I));
}

constexpr AllFields make_all() {
  AllFields all;
#define LAZYRT_MEMBER(name)                                                         \
  add<fb::name>(&all, static_cast<size_t>(fb::OpAttrsTraits<fb::name>::enum_value), \
                std::make_index_sequence<layout::field_count<fb::name>()>());
#include "schema/op_tables.inc"
#undef LAZYRT_MEMBER
  return all;
}
constexpr AllFields kAll = make_all();
static_assert(kAll.begin[kKinds] == count_fields(), "op_tables.inc has each table in its place");

constexpr bool have_no_tables() {
  for (const Field& field : kAll.fields) {
    if (field.kind() == Field::Kind::kUnion || field.kind() == Field::Kind::kStructs ||
        field.has_table())
      return false;
  }
  return true;
}
static_assert(have_no_tables());

}  // namespace

Span<const Field> fields_of(fb::OpAttrs kind) {
  const auto i = static_cast<size_t>(kind);
  return {kAll.fields + kAll.begin[i], size_t{kAll.begin[i + 1]} - kAll.begin[i]};
}

}  // namespace lazyrt
