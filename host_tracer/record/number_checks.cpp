#include "host_tracer/record/number_checks.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <unordered_map>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/lazy_backend.h"

namespace lazyrt {

void require_fits(const at::Tensor& number, at::ScalarType type) {
  const bool whole = c10::isIntegralType(number.scalar_type(), /*includeBool=*/true);
  if (!c10::isIntegralType(type, /*includeBool=*/false) || (whole && type == at::kLong)) return;
  if (at::promote_types(number.scalar_type(), type) == type) return;
  const bool is_signed = c10::isSignedType(type);
  const int bits = static_cast<int>(c10::elementSize(type)) * 8 - (is_signed ? 1 : 0);
  const double limit = std::ldexp(1.0, bits);
  const at::Tensor real = number.to(at::kDouble);
  require(at::logical_and(at::gt(real, is_signed ? -limit - 1 : -limit), at::lt(real, limit)),
          std::string("a number fits into ") + c10::toString(type));
}

void check_filled_number(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  static const std::unordered_map<std::string, size_t> places = {{"aten::masked_fill.Tensor", 2},
                                                                 {"aten::index_fill.int_Tensor", 3},
                                                                 {"aten::fill.Tensor", 1}};
  const auto place = places.find(c10::toString(op.operator_name()));
  if (place == places.end()) return;
  const at::Tensor self = torch::jit::peek(stack, 0, op.schema().arguments().size()).toTensor();
  const at::Tensor value =
      torch::jit::peek(stack, place->second, op.schema().arguments().size()).toTensor();
  if (is_lazy(value)) require_fits(value, self.scalar_type());
}

}  // namespace lazyrt
