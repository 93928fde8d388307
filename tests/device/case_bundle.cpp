#include "tests/device/case_bundle.h"

#include "lazyrt/runtime.h"

namespace lazyrt::test {

bool make_case_bundle(const OpCase& op_case, CaseBundle* out) {
  MethodBuilder b(&out->parts);
  std::vector<GuardedTensor> operands = draw_operands(op_case, conformance_seed());
  std::vector<int> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    const CaseOperand& o = op_case.operands[i];
    const std::string name = "x" + std::to_string(i);
    if (o.dtype == DType::kNone) {
      ids.push_back(-1);
    } else if (o.constant) {
      ids.push_back(b.constant(name, o.dtype, o.shape, operands[i].view().data));
    } else {
      ids.push_back(b.input(name, o.dtype, o.shape));
      out->inputs.push_back(operands[i].clone());
    }
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
