// The only file that names all operators. Everything here is constant-initialised.

#include "lazyrt/runtime.h"
#include "runtime/op/op_def.h"

#include "kernels/op_facets.h"  // generated: LAZYRT_CPU_<name>, LAZYRT_VK_<name> = &<name>_cpu or nullptr

namespace lazyrt {

#define LAZYRT_OP(Member, name, folder) extern const OpDef name##_op;
#include "kernels/ops.inc"
#undef LAZYRT_OP

namespace {

constexpr size_t kOpSlots = static_cast<size_t>(fb::OpAttrs::MAX) + 1;

struct Registry {
  OpEntry entries[kOpSlots];
};

constexpr Registry make_registry() {
  Registry r;
#define LAZYRT_OP(Member, name, folder)                 \
  r.entries[static_cast<size_t>(fb::OpAttrs::Member)] = \
      OpEntry{fb::OpAttrs::Member,                      \
              #name,                                    \
              &name##_op,                               \
              {&name##_op.reference, LAZYRT_CPU_##name, LAZYRT_VK_##name}};
#include "kernels/ops.inc"
#undef LAZYRT_OP
  return r;
}

constexpr Registry kRegistry = make_registry();

constexpr bool every_member_has_a_line() {
  for (size_t i = 2; i < kOpSlots; ++i) {  // 0 is NONE, 1 CustomOp
    if (kRegistry.entries[i].def == nullptr) return false;
  }
  return true;
}
static_assert(every_member_has_a_line(), "a member of fb::OpAttrs has no line in kernels/ops.inc");

constexpr OpTable kTable = {Span<const OpEntry>(kRegistry.entries), {}};

}  // namespace

const OpTable& default_ops() { return kTable; }

}  // namespace lazyrt
