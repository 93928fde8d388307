// The only file that names all operators. Everything here is constant-initialised. A selective
// build has one of its own, written by toolchains/cmake/LazyrtKeep.cmake: this one with other
// lists.

#include "lazyrt/runtime.h"
#include "runtime/op/op_def.h"

#ifndef LAZYRT_SELECTION
#define LAZYRT_SELECTION nullptr
#define LAZYRT_OPS "kernels/ops.inc"
// Generated: LAZYRT_CPU_<name>, LAZYRT_VK_<name> = &<name>_cpu or nullptr; LAZYRT_KEPT_<name>.
#define LAZYRT_FACETS "kernels/op_facets.h"
#endif
#include LAZYRT_FACETS

namespace lazyrt {

#define LAZYRT_OP(Member, name, folder) extern const OpDef name##_op;
#include LAZYRT_OPS
#undef LAZYRT_OP

namespace {

constexpr size_t kOpSlots = static_cast<size_t>(fb::OpAttrs::MAX) + 1;

struct Registry {
  OpEntry entries[kOpSlots];
};

constexpr Registry make_registry() {
  Registry r;
#define LAZYRT_OP(Member, name, folder)                                    \
  r.entries[static_cast<size_t>(fb::OpAttrs::Member)] =                    \
      OpEntry{fb::OpAttrs::Member,                                         \
              #name,                                                       \
              &name##_op,                                                  \
              {&name##_op.reference, LAZYRT_CPU_##name, LAZYRT_VK_##name}, \
              LAZYRT_KEPT_##name};
#include LAZYRT_OPS
#undef LAZYRT_OP
  return r;
}

constexpr Registry kRegistry = make_registry();

constexpr bool every_member_has_a_line() {
  for (size_t i = 2; LAZYRT_SELECTION == nullptr && i < kOpSlots; ++i) {  // 0 is NONE, 1 CustomOp
    if (kRegistry.entries[i].def == nullptr) return false;
  }
  return true;
}
static_assert(every_member_has_a_line(), "a member of fb::OpAttrs has no line in kernels/ops.inc");

constexpr OpTable kTable = {Span<const OpEntry>(kRegistry.entries), {}, LAZYRT_SELECTION};

}  // namespace

const OpTable& default_ops() { return kTable; }

}  // namespace lazyrt
