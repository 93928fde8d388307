// Texts for people: each table has its own, so that a report of them all is no larger than the
// file.

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

/// Bytes that a Source or KeyValue takes in the smallest honest file.
constexpr uint64_t kHonestTextsBytes = 8;

}  // namespace

Fault check_texts(const MethodCheck& check) {
  for (uint32_t i = 0; i < count_of(check.method.sources()); ++i) {
    const fb::Source& s = *check.method.sources()->Get(i);
    LAZYRT_RETURN_IF_ERROR(check.budget->charge(kHonestTextsBytes + count_of(s.aten()) +
                                                count_of(s.module_path()) + count_of(s.file())));
  }
  for (uint32_t i = 0; i < count_of(check.method.guards()); ++i) {
    LAZYRT_RETURN_IF_ERROR(check.budget->charge(count_of(check.method.guards()->Get(i)->text())));
  }
  for (uint32_t i = 0; i < count_of(check.method.values()); ++i) {
    LAZYRT_RETURN_IF_ERROR(check.budget->charge(count_of(check.method.values()->Get(i)->name())));
  }
  return {};
}

Fault check_info(const fb::Bundle& bundle, Budget* budget) {
  for (uint32_t i = 0; i < count_of(bundle.info()); ++i) {
    const fb::KeyValue& entry = *bundle.info()->Get(i);
    LAZYRT_RETURN_IF_ERROR(
        budget->charge(kHonestTextsBytes + count_of(entry.key()) + count_of(entry.value())));
  }
  return {};
}

}  // namespace lazyrt
