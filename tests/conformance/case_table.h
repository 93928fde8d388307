#pragma once

#include <ostream>

#include "kernels/common/op_case.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// An op and its conformance cases. Made from kernels/ops.inc: an op without cases does not link.
struct OpCases {
  const OpEntry* op = nullptr;
  CaseList cases;
};
const std::vector<OpCases>& all_cases();

/// One case of one op, printed by tests as "op/case".
struct CaseRef {
  const OpEntry* op = nullptr;
  const OpCase* op_case = nullptr;

  std::string id() const { return std::string(op->name) + "/" + op_case->name; }
};
/// How GoogleTest names a case in its output.
inline void PrintTo(const CaseRef& c, std::ostream* os) { *os << c.id(); }
/// And how it names the test of a case; takes GoogleTest's TestParamInfo.
inline constexpr auto case_test_name = [](const auto& test) {
  return std::string(test.param.op->name) + "__" + test.param.op_case->name;
};

/// The same for tests over the indices of all_cases().
inline constexpr auto op_test_name = [](const auto& test) {
  return std::string(all_cases()[test.param].op->name);
};

/// Every case of every op.
std::vector<CaseRef> case_refs();

}  // namespace lazyrt
