// Activation functions.

#include <limits>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

ValueId self(RuleContext& c) { return c.cast(c.tensor("self"), c.out_dtype()); }

void relu(RuleContext& c) {
  const ValueId x = self(c);
  c.set(is_floating(c.dtype(x)) ? c.unary(UnaryFn::Relu, x)
                                : c.binary_number(BinaryFn::Maximum, x, 0));
}

void relu6(RuleContext& c) { c.set(c.unary(UnaryFn::Clamp, self(c), 0, 6)); }

void gelu(RuleContext& c) {
  const std::string form = c.text_or("approximate", "none");
  if (form != "none" && form != "tanh") c.fail_arg("approximate", "is '" + form + "'");
  c.set(c.unary(form == "tanh" ? UnaryFn::GeluTanh : UnaryFn::Gelu, self(c)));
}

void softplus(RuleContext& c) {
  c.set(c.unary(UnaryFn::Softplus, self(c), c.number_or("beta", 1).as_double(),
                c.number_or("threshold", 20).as_double()));
}

void leaky_relu(RuleContext& c) {
  c.set(c.unary(UnaryFn::LeakyRelu, self(c), c.number_or("negative_slope", 0.01).as_double()));
}

/// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)).
void emit_elu(RuleContext& c, double alpha, double scale, double input_scale) {
  const ValueId x = self(c);
  if (input_scale == 1.0) return c.set(c.unary(UnaryFn::Elu, x, alpha, scale));
  const ValueId power = c.unary(UnaryFn::Expm1, c.binary_number(BinaryFn::Mul, x, input_scale));
  const ValueId negative = c.binary_number(BinaryFn::Mul, power, alpha * scale);
  const ValueId positive = c.binary_number(BinaryFn::Mul, x, scale);
  c.set(c.where(c.binary_number(BinaryFn::Le, x, 0.0), negative, positive));
}

void elu(RuleContext& c) {
  emit_elu(c, c.number_or("alpha", 1).as_double(), c.number_or("scale", 1).as_double(),
           c.number_or("input_scale", 1).as_double());
}

void selu(RuleContext& c) { emit_elu(c, kSeluAlpha, kSeluScale, 1); }

void celu(RuleContext& c) {
  const double alpha = c.number_or("alpha", 1).as_double();
  emit_elu(c, alpha, 1, 1 / alpha);
}

/// x > 0 ? x : weight * x, the weight along dim 1 when it has several elements.
void prelu(RuleContext& c) {
  const ValueId x = self(c);
  ValueId weight = c.cast(c.tensor("weight"), c.out_dtype());
  if (c.rank(weight) == 1 && c.rank(x) > 1) {
    std::vector<int64_t> dims(static_cast<size_t>(c.rank(x)), 1);
    dims[1] = c.numel(weight);
    weight = c.reshape(weight, c.make_shape(dims));
  } else if (c.numel(weight) == 1) {
    weight = c.reshape(weight, {});
  }
  c.set(c.where(c.binary_number(BinaryFn::Gt, x, 0.0), x, c.binary(BinaryFn::Mul, weight, x)));
}

void rrelu(RuleContext& c) {
  if (c.boolean_or("training", false)) {
    c.refuse("draws random numbers in training; call model.eval() before the export");
    return;
  }
  const double lower = c.number_or("lower", 1.0 / 8).as_double();
  const double upper = c.number_or("upper", 1.0 / 3).as_double();
  c.set(c.unary(UnaryFn::LeakyRelu, self(c), (lower + upper) / 2));
}

void glu(RuleContext& c) {
  const ValueId x = self(c);
  const int axis = c.axis_arg("dim", x);
  const int64_t half = c.dim(x, axis) / 2;
  const ValueId gate = c.unary(UnaryFn::Sigmoid, c.slice(x, axis, half, half));
  c.set(c.binary(BinaryFn::Mul, c.slice(x, axis, 0, half), gate));
}

constexpr RuleEntry kActivationEntries[] = {
    {"relu", relu},
    {"relu6", relu6},
    {"gelu", gelu},
    {"softplus", softplus},
    {"leaky_relu", leaky_relu},
    {"elu", elu},
    {"selu", selu},
    {"celu", celu},
    {"prelu", prelu},
    {"_prelu_kernel", prelu},
    {"rrelu", rrelu},
    {"rrelu_with_noise", rrelu},
    {"rrelu_with_noise_functional", rrelu},
    {"glu", glu},
};

}  // namespace

const RuleList activation_rules{kActivationEntries};

}  // namespace lazyrt
