#include "tests/device/doubled_case.h"

#include "lazyrt/runtime.h"
#include "tests/support/case_bundle.h"

namespace lazyrt::test {

bool double_case(const OpCase& op_case, DoubledCase* out) {
  MethodBuilder b(&out->parts);
  const std::vector<GuardedTensor> operands = draw_operands(op_case, conformance_seed());
  const std::vector<int> ids =
      add_case_operands(&b, op_case, [&](size_t i) { return operands[i].view().data; });
  for (size_t i = 0; i < operands.size(); ++i) {
    if (op_case.operands[i].is_given()) out->inputs.push_back(operands[i].clone());
  }
  try {
    for (int i = 0; i < 2; ++i) {
      const int y = b.infer(default_ops(), op_case.attrs, ids);
      b.output("y" + std::to_string(i), y);
      const fb::ValueT& value = *b.method().values[static_cast<size_t>(y)];
      fb::ReshapeT again;
      again.shape = value.shape;
      b.output("z" + std::to_string(i), b.infer(default_ops(), again, {y}));
    }
  } catch (const std::exception&) {
    return false;  // refused by its shape rule
  }
  return true;
}

}  // namespace lazyrt::test
