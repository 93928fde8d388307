#include "tests/support/case_bundle.h"

namespace lazyrt::test {
namespace {

int add_operand(MethodBuilder* method, size_t i, const CaseOperand& operand,
                const std::function<const void*(size_t)>& data) {
  if (operand.dtype == DType::kNone) return -1;
  const std::string name = "x" + std::to_string(i);
  return operand.constant ? method->constant(name, operand.dtype, operand.shape, data(i))
                          : method->input(name, operand.dtype, operand.shape);
}

}  // namespace

std::vector<int> add_case_operands(MethodBuilder* method, const OpCase& op_case,
                                   const std::function<const void*(size_t)>& data) {
  std::vector<int> operands;
  for (size_t i = 0; i < op_case.operands.size(); ++i)
    operands.push_back(add_operand(method, i, op_case.operands[i], data));
  return operands;
}

void add_case_node(MethodBuilder* method, const OpTable& ops, const OpCase& op_case,
                   const std::function<const void*(size_t)>& data) {
  (void)method->infer(ops, op_case.attrs, add_case_operands(method, op_case, data));
  const std::vector<int>& results = method->method().nodes.back()->outputs;
  for (size_t i = 0; i < results.size(); ++i) method->output("y" + std::to_string(i), results[i]);
}

}  // namespace lazyrt::test
