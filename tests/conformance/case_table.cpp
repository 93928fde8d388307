#include "tests/conformance/case_table.h"

#include "lazyrt/runtime.h"

namespace lazyrt {

#define LAZYRT_OP(Member, name, folder) CaseList name##_cases();
#include "kernels/ops.inc"
#undef LAZYRT_OP

namespace {

OpCases cases_of(fb::OpAttrs kind, CaseList cases) {
  return {&default_ops().builtin[static_cast<size_t>(kind)], std::move(cases)};
}

std::vector<OpCases> make_cases() {
  std::vector<OpCases> all;
#define LAZYRT_OP(Member, name, folder) \
  all.push_back(cases_of(fb::OpAttrs::Member, name##_cases()));
#include "kernels/ops.inc"
#undef LAZYRT_OP
  return all;
}

}  // namespace

const std::vector<OpCases>& all_cases() {
  static const std::vector<OpCases> all = make_cases();
  return all;
}

std::vector<CaseRef> case_refs() {
  std::vector<CaseRef> refs;
  for (const OpCases& op : all_cases()) {
    for (const OpCase& c : op.cases) refs.push_back({op.op, &c});
  }
  return refs;
}

}  // namespace lazyrt
