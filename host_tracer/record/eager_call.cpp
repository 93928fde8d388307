#include "host_tracer/record/eager_call.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace lazyrt {

std::vector<at::Tensor> call_eagerly(const std::string& op, const std::string& overload,
                                     const OpArgs& args, const IdToTensor& tensor_of) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op.c_str(), overload.c_str());
  const auto& arguments = handle.schema().arguments();
  TORCH_CHECK(arguments.size() == args.size(), op, ": wrong argument count");
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    stack.push_back(to_ivalue(arguments[i], args[i].second, tensor_of));
  }
  handle.callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue& result : stack) {
    if (result.isTensor()) results.push_back(result.toTensor());
    if (!result.isTensorList()) continue;
    for (const at::Tensor& t : result.toTensorVector()) results.push_back(t);
  }
  return results;
}

}  // namespace lazyrt
