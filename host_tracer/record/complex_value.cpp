#include "host_tracer/record/complex_value.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/ScalarOps.h>
#include <torch/csrc/lazy/core/hash.h>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lazy_backend.h"

namespace lazyrt {
namespace {

using torch::lazy::Value;

/// Never an operand of a captured call: it has one operand, pairs [..., 2], or two, the halves.
class ComplexNode final : public torch::lazy::Node {
 public:
  ComplexNode(const std::vector<Value>& operands, const torch::lazy::Shape& shape)
      : Node(torch::lazy::OpKind::Get("lazyrt::complex"), operands,
             std::vector<torch::lazy::Shape>{shape}, 1),
        parts_(operands),
        hash_(shape.hash(true)) {
    for (const Value& part : parts_) hash_ = torch::lazy::HashCombine(hash_, part.hash());
  }

  const std::vector<Value>& parts() const { return parts_; }
  torch::lazy::hash_t hash() const override { return hash_; }
  torch::lazy::hash_t shapeHash() const override { return hash_; }

 private:
  std::vector<Value> parts_;
  torch::lazy::hash_t hash_;
};

const ComplexNode* as_complex(const Value& value) {
  return dynamic_cast<const ComplexNode*>(value.node.get());
}

/// Of a lazy tensor or one on the CPU.
Value any_value(const at::Tensor& t) {
  return is_lazy(t) ? value_of(t) : CaptureSession::current()->operand_value(t);
}

at::ScalarType complex_type(at::ScalarType real) {
  TORCH_CHECK(real == at::kFloat || real == at::kDouble, "complex numbers of ", real,
              " halves are not supported");
  return at::toComplexType(real);
}

Value complex_of_halves(const at::Tensor& re, const at::Tensor& im) {
  const torch::lazy::Shape shape(complex_type(re.scalar_type()), re.sizes());
  return Value(
      std::make_shared<ComplexNode>(std::vector<Value>{any_value(re), any_value(im)}, shape), 0);
}

}  // namespace

bool is_complex_tensor(const at::Tensor& t) {
  return t.defined() && at::isComplexType(t.scalar_type());
}

at::Tensor number_operand(const at::Scalar& value) {
  at::Tensor number = c10::scalar_to_tensor(value);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

ComplexParts complex_parts(const at::Tensor& t) {
  if (!is_complex_tensor(t)) return {t, {}};
  if (!is_lazy(t) && t.unsafeGetTensorImpl()->is_wrapped_number()) {
    const auto number = t.item<c10::complex<double>>();
    return {number_operand(number.real()), number_operand(number.imag())};
  }
  const Value value = any_value(t);
  const std::vector<Value>& parts = as_complex(value)->parts();
  if (parts.size() == 2) return {make_lazy(parts[0]), make_lazy(parts[1])};
  const at::Tensor pairs = make_lazy(parts[0]);
  return {at::select_copy(pairs, -1, 0), at::select_copy(pairs, -1, 1)};
}

at::Tensor make_complex(ComplexParts parts) {
  if (!parts.im.defined()) parts.im = at::zeros_like(parts.re);
  const at::ScalarType type = at::result_type(parts.re, parts.im);
  if (parts.re.scalar_type() != type) parts.re = at::_to_copy(parts.re, type);
  if (parts.im.scalar_type() != type) parts.im = at::_to_copy(parts.im, type);
  const auto sizes = at::infer_size(parts.re.sizes(), parts.im.sizes());
  if (parts.re.sizes() != sizes) parts.re = at::expand_copy(parts.re, sizes);
  if (parts.im.sizes() != sizes) parts.im = at::expand_copy(parts.im, sizes);
  return make_lazy(complex_of_halves(parts.re, parts.im));
}

Value complex_of_pairs(const Value& pairs) {
  const torch::lazy::Shape& real = pairs.shape();
  TORCH_CHECK(real.dim() > 0 && real.sizes().back() == 2,
              "view_as_complex of a tensor whose last dim is not 2 long");
  const std::vector<int64_t> sizes(real.sizes().begin(), real.sizes().end() - 1);
  const torch::lazy::Shape shape(complex_type(real.scalar_type()), sizes);
  return Value(std::make_shared<ComplexNode>(std::vector<Value>{pairs}, shape), 0);
}

at::Tensor complex_of_pairs(const at::Tensor& pairs) {
  return make_lazy(complex_of_pairs(value_of(pairs)));
}

Value without_complex(const Value& value) {
  const ComplexNode* node = as_complex(value);
  if (node == nullptr) return value;
  if (node->parts().size() == 1) return node->parts()[0];
  return value_of(at::stack({make_lazy(node->parts()[0]), make_lazy(node->parts()[1])}, -1));
}

at::Tensor as_pairs(const at::Tensor& complex) {
  return make_lazy(without_complex(any_value(complex)));
}

}  // namespace lazyrt
