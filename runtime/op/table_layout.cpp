#include "runtime/op/table_layout.h"

namespace lazyrt {
namespace {

/// What stands for NONE.
struct NoOperator {
  struct Traits {
    static constexpr size_t fields_number = 0;
  };
};

/// By their numbers in the union.
#define LAZYRT_MEMBER(name) , fb::name
constexpr TableFields<NoOperator
#include "schema/op_tables.inc"
                      >
    kOperators;
#undef LAZYRT_MEMBER

#define LAZYRT_MEMBER(name)                         \
  static_assert(kOperators.number_of<fb::name>() == \
                static_cast<size_t>(fb::OpAttrsTraits<fb::name>::enum_value));
#include "schema/op_tables.inc"
#undef LAZYRT_MEMBER

constexpr bool have_no_tables() {
  for (size_t kind = 0; kind <= static_cast<size_t>(fb::OpAttrs::MAX); ++kind) {
    for (const Field& field : kOperators.of(kind)) {
      if (field.kind() == Field::Kind::kUnion || field.kind() == Field::Kind::kStructs ||
          field.has_table())
        return false;
    }
  }
  return true;
}
static_assert(have_no_tables());

}  // namespace

Span<const Field> fields_of(fb::OpAttrs kind) { return kOperators.of(static_cast<size_t>(kind)); }

}  // namespace lazyrt
