#include "host_tracer/frontends/shared/given_tensor.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

at::Tensor made_up(const GivenInput& input) {
  const auto options = at::TensorOptions().dtype(to_scalar_type(input.dtype));
  if (!is_floating(input.dtype)) return at::zeros(input.shape, options);
  const auto generator = at::detail::createCPUGenerator(20261121);
  return at::randn(input.shape, generator, at::TensorOptions().dtype(at::kFloat)).to(options);
}

}  // namespace

at::Tensor given_tensor(const GivenInput& input) {
  TORCH_CHECK_VALUE(!input.number, "input '", input.name,
                    "' is a tensor; a number is given for it");
  TORCH_CHECK_VALUE(input.dtype != DType::kNone, "input '", input.name, "' has no dtype");
  if (!input.data.data) return made_up(input);
  const at::Tensor t = from_sample({input.dtype, input.shape, input.data});
  TORCH_CHECK_VALUE(t.nbytes() == input.data.bytes, "input '", input.name, "' has ",
                    input.data.bytes, " bytes, its shape and dtype need ", t.nbytes());
  return t;
}

}  // namespace lazyrt
