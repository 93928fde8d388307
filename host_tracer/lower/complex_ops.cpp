#include "host_tracer/record/lowering.h"

#include <ATen/ATen.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "host_tracer/lower/complex_fft.h"
#include "host_tracer/lower/complex_math.h"
#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/op_args.h"
#include "host_tracer/record/shape_rules.h"

namespace lazyrt {
namespace {

using Args = RuleArgs;
using Handler = at::Tensor (*)(const Args&);

/// A tensor or number argument.
ComplexParts parts_of(const c10::IValue& value) {
  if (!value.isScalar()) return complex_parts(value.toTensor());
  const at::Scalar number = value.toScalar();
  if (!number.isComplex()) return {number_operand(number), {}};
  const auto z = number.toComplexDouble();
  return {number_operand(z.real()), number_operand(z.imag())};
}

ComplexParts self(const Args& a) { return parts_of(a.at("self")); }
ComplexParts other(const Args& a) { return parts_of(a.at("other")); }

// ---------------------------------------------------------------- conversions

at::Tensor from_halves(const Args& a) { return make_complex({a.tensor("real"), a.tensor("imag")}); }

at::Tensor from_polar(const Args& a) {
  const at::Tensor length = a.tensor("abs"), angle = a.tensor("angle");
  return make_complex({at::mul(length, at::cos(angle)), at::mul(length, at::sin(angle))});
}

at::Tensor from_pairs(const Args& a) { return complex_of_pairs(a.tensor("self")); }
at::Tensor to_pairs(const Args& a) { return as_pairs(a.tensor("self")); }

at::Tensor conjugate(const Args& a) {
  const ComplexParts x = self(a);
  return make_complex({x.re, at::neg(x.im)});
}

at::Tensor on_cpu(const at::Tensor& complex, std::optional<at::ScalarType> dtype) {
  const at::Tensor pairs = at::_to_copy(as_pairs(complex), at::TensorOptions().device(at::kCPU));
  const at::Tensor result = at::view_as_complex(pairs.contiguous());
  return dtype ? result.to(*dtype) : result;
}

/// z.view(real type): the halves beside each other in the last dim, and back.
at::Tensor view_as_type(const Args& a) {
  const auto dtype = a.at("dtype").toScalarType();
  const at::Tensor x = a.tensor("self");
  const bool back = at::isComplexType(dtype);
  TORCH_CHECK(back != is_complex_tensor(x) && x.dim() > 0 && (!back || x.size(-1) % 2 == 0) &&
                  at::toRealValueType(dtype) == at::toRealValueType(x.scalar_type()),
              "a view of ", x.scalar_type(), " as ", dtype, " is not supported");
  std::vector<int64_t> sizes = x.sizes().vec();
  if (back) {
    sizes.back() /= 2;
    sizes.push_back(2);
    return complex_of_pairs(at::_reshape_copy(x, sizes));
  }
  sizes.back() *= 2;
  return at::_reshape_copy(as_pairs(x), sizes);
}

at::Tensor is_nonzero(const ComplexParts& x) {
  const at::Tensor re = at::ne(x.re, 0);
  return x.im.defined() ? at::logical_or(re, at::ne(x.im, 0)) : re;
}

at::Tensor convert(const Args& a) {
  const auto dtype = a.at("dtype").toOptional<at::ScalarType>();
  const auto device = a.at("device").toOptional<at::Device>();
  if (device && device->is_cpu()) return on_cpu(a.tensor("self"), dtype);
  ComplexParts x = self(a);
  if (!dtype) return a.tensor("self");
  if (*dtype == at::kBool) return is_nonzero(x);
  const at::ScalarType real = at::toRealValueType(*dtype);
  x.re = at::_to_copy(x.re, real);
  if (!at::isComplexType(*dtype)) return x.re;  // as eager does, with a warning
  if (x.im.defined()) x.im = at::_to_copy(x.im, real);
  return make_complex(x);
}

// ---------------------------------------------------------------- arithmetic

ComplexParts times(const ComplexParts& x, const c10::IValue& number) {
  const at::Scalar factor = number.toScalar();
  if (!factor.isComplex() && factor.toDouble() == 1) return x;
  return complex_multiply(x, parts_of(number));
}

at::Tensor add(const Args& a) {
  return make_complex(complex_add(self(a), times(other(a), a.at("alpha"))));
}
at::Tensor sub(const Args& a) {
  return make_complex(complex_subtract(self(a), times(other(a), a.at("alpha"))));
}
at::Tensor rsub(const Args& a) {
  return make_complex(complex_subtract(other(a), times(self(a), a.at("alpha"))));
}

at::Tensor mul(const Args& a) { return make_complex(complex_multiply(self(a), other(a))); }

at::Tensor div(const Args& a) { return make_complex(complex_divide(self(a), other(a))); }

ComplexParts inverse(const ComplexParts& x) { return complex_divide({number_operand(1.0), {}}, x); }

at::Tensor abs(const Args& a) { return complex_abs(self(a)); }
at::Tensor angle(const Args& a) { return complex_angle(self(a)); }

template <ComplexParts (*kFn)(const ComplexParts&)>
at::Tensor unary(const Args& a) {
  return make_complex(kFn(self(a)));
}

ComplexParts square(const ComplexParts& x) { return complex_multiply(x, x); }

ComplexParts sign(const ComplexParts& x) {
  const at::Tensor length = complex_abs(x);
  const at::Tensor zero = at::eq(length, 0);
  return {at::where(zero, length, at::div(x.re, length)),
          at::where(zero, length, at::div(x.im, length))};
}

ComplexParts sigmoid(const ComplexParts& x) {
  const ComplexParts one = {number_operand(1.0), {}};
  return inverse(complex_add(one, complex_exp(complex_negative(x))));
}

/// Small whole exponents by products: exact where a logarithm is not.
at::Tensor power_by_number(const Args& a) {
  constexpr int kMostProducts = 8;
  const ComplexParts x = self(a);
  const at::Scalar exponent = a.at("exponent").toScalar();
  const bool real = !exponent.isComplex();
  if (real && exponent.toDouble() == 0) {
    return make_complex({at::ones_like(x.re), at::zeros_like(x.re)});
  }
  if (real && std::abs(exponent.toDouble()) == 0.5) {
    const ComplexParts root = complex_sqrt(x);
    return make_complex(exponent.toDouble() > 0 ? root : inverse(root));
  }
  const double n = real ? exponent.toDouble() : 0.5;
  if (n != std::floor(n) || std::abs(n) > kMostProducts) {
    return make_complex(complex_power(x, parts_of(a.at("exponent"))));
  }
  ComplexParts product = x;
  for (int i = 1; i < std::abs(n); ++i) product = complex_multiply(product, x);
  if (n < 0) product = inverse(product);
  return make_complex(product);
}

at::Tensor power(const Args& a) {
  return make_complex(complex_power(self(a), parts_of(a.at("exponent"))));
}

at::Tensor product_of(const ComplexParts& x, const ComplexParts& y) {
  return make_complex(complex_product(x, y, real_matmul));
}

template <const char* kLeft, const char* kRight>
at::Tensor product(const Args& a) {
  return product_of(parts_of(a.at(kLeft)), parts_of(a.at(kRight)));
}

template <const char* kLeft, const char* kRight>
at::Tensor added_product(const Args& a) {
  const ComplexParts xy = complex_parts(product<kLeft, kRight>(a));
  const ComplexParts scaled = times(xy, a.at("alpha"));
  const at::Scalar beta = a.at("beta").toScalar();
  if (!beta.isComplex() && beta.toDouble() == 0) return make_complex(scaled);  // it may be NaN
  return make_complex(complex_add(times(self(a), a.at("beta")), scaled));
}

constexpr char kSelf[] = "self", kMat1[] = "mat1", kMat2[] = "mat2", kBatch1[] = "batch1",
               kBatch2[] = "batch2", kTensor[] = "tensor", kVec[] = "vec", kOther[] = "other";

at::Tensor conjugate_dot(const Args& a) {
  const ComplexParts x = self(a);
  return product_of({x.re, x.im.defined() ? at::neg(x.im) : x.im}, other(a));
}

// ---------------------------------------------------------------- comparisons

at::Tensor zero_or(const ComplexParts& x) { return x.im.defined() ? x.im : number_operand(0.0); }

at::Tensor equal(const Args& a) {
  const ComplexParts x = self(a), y = other(a);
  return at::logical_and(at::eq(x.re, y.re), at::eq(zero_or(x), zero_or(y)));
}
at::Tensor unequal(const Args& a) { return at::logical_not(equal(a)); }

template <at::Tensor (*kFn)(const at::Tensor&)>
at::Tensor either(const Args& a) {
  const ComplexParts x = self(a);
  return at::logical_or(kFn(x.re), kFn(x.im));
}

at::Tensor finite(const Args& a) {
  const ComplexParts x = self(a);
  return at::logical_and(at::isfinite(x.re), at::isfinite(x.im));
}

at::Tensor norm_of_order(const Args& a, const at::Scalar& order) {
  const std::vector<int64_t> dims = a.ints("dim");
  const auto given =
      a.at("dim").isNone() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims);
  return at::linalg_vector_norm(complex_abs(self(a)), order, given, a.boolean("keepdim"));
}
at::Tensor vector_norm(const Args& a) { return norm_of_order(a, a.at("ord").toScalar()); }
at::Tensor norm(const Args& a) {
  return norm_of_order(a, a.at("p").isNone() ? at::Scalar(2) : a.at("p").toScalar());
}

// ---------------------------------------------------------------- Fourier transforms

Fft fft_of(const Args& a) { return {a.ints("dim"), a.integer("normalization")}; }

at::Tensor c2c(const Args& a) {
  return make_complex(fft_c2c(self(a), fft_of(a), a.boolean("forward")));
}
at::Tensor r2c(const Args& a) {
  return make_complex(fft_r2c(a.tensor("self"), fft_of(a), a.boolean("onesided")));
}
at::Tensor c2r(const Args& a) { return fft_c2r(self(a), fft_of(a), a.integer("last_dim_size")); }

const std::unordered_map<std::string, Handler>& handlers() {
  static const std::unordered_map<std::string, Handler> table = {
      {"_conj", conjugate},
      {"_conj_physical", conjugate},
      {"_fft_c2c", c2c},
      {"_fft_c2r", c2r},
      {"_fft_r2c", r2c},
      {"_to_copy", convert},
      {"abs", abs},
      {"add", add},
      {"addmm", added_product<kMat1, kMat2>},
      {"angle", angle},
      {"baddbmm", added_product<kBatch1, kBatch2>},
      {"bmm", product<kSelf, kMat2>},
      {"complex", from_halves},
      {"conj_physical", conjugate},
      {"cos", unary<complex_cos>},
      {"cosh", unary<complex_cosh>},
      {"div", div},
      {"dot", product<kSelf, kTensor>},
      {"eq", equal},
      {"exp", unary<complex_exp>},
      {"isfinite", finite},
      {"isinf", either<at::isinf>},
      {"isnan", either<at::isnan>},
      {"linalg_vector_norm", vector_norm},
      {"log", unary<complex_log>},
      {"matmul", product<kSelf, kOther>},
      {"mm", product<kSelf, kMat2>},
      {"mul", mul},
      {"mv", product<kSelf, kVec>},
      {"ne", unequal},
      {"neg", unary<complex_negative>},
      {"norm.ScalarOpt_dim", norm},
      {"polar", from_polar},
      {"pow.Scalar", power},
      {"pow.Tensor_Scalar", power_by_number},
      {"pow.Tensor_Tensor", power},
      {"reciprocal", unary<inverse>},
      {"rsub", rsub},
      {"sgn", unary<sign>},
      {"sigmoid", unary<sigmoid>},
      {"sin", unary<complex_sin>},
      {"sinh", unary<complex_sinh>},
      {"sqrt", unary<complex_sqrt>},
      {"square", unary<square>},
      {"sub", sub},
      {"tanh", unary<complex_tanh>},
      {"vdot", conjugate_dot},
      {"view.dtype", view_as_type},
      {"view_as_complex", from_pairs},
      {"view_as_real", to_pairs},
  };
  return table;
}

// ---------------------------------------------------------------- operators of each half alone

/// They move, sum or fill: the same call on each half gives the halves of the result.
const std::unordered_set<std::string>& linear_ops() {
  static const std::unordered_set<std::string> names = {
      "_reshape_alias",
      "_unsafe_index",
      "_unsafe_view",
      "alias",
      "as_strided",
      "as_strided_scatter",
      "cat",
      "constant_pad_nd",
      "copy",
      "cumsum",
      "diagonal",
      "diagonal_scatter",
      "diag_embed",
      "empty",
      "empty_like",
      "empty_strided",
      "expand",
      "fill",
      "flip",
      "full",
      "full_like",
      "gather",
      "index",
      "index_add",
      "index_put",
      "index_select",
      "masked_fill",
      "masked_scatter",
      "mean",
      "new_empty",
      "new_empty_strided",
      "new_full",
      "new_zeros",
      "permute",
      "pixel_shuffle",
      "repeat",
      "reshape",
      "roll",
      "scalar_tensor",
      "scatter",
      "scatter_add",
      "select",
      "select_scatter",
      "slice",
      "slice_scatter",
      "split",
      "split_with_sizes",
      "squeeze",
      "stack",
      "sum",
      "t",
      "trace",
      "transpose",
      "tril",
      "triu",
      "unbind",
      "unfold",
      "unsqueeze",
      "view",
      "where",
      "zero",
      "zeros",
      "zeros_like",
  };
  return names;
}

/// Their imaginary half is zero.
const std::unordered_set<std::string>& real_fills() {
  static const std::unordered_set<std::string> names = {"ones", "ones_like", "new_ones", "eye"};
  return names;
}

enum class Half : uint8_t { kRe, kIm };

/// Tensor arguments that say where, not what.
bool is_place(const std::string& name) {
  return name == "index" || name == "indices" || name == "mask" || name == "condition";
}

at::Tensor half_of(const at::Tensor& t, Half half) {
  const ComplexParts parts = complex_parts(t);
  if (half == Half::kRe) return parts.re;
  return parts.im.defined() ? parts.im : at::zeros_like(t);
}

c10::IValue half_of_number(const at::Scalar& number, Half half) {
  if (half == Half::kRe) return number.isComplex() ? number.toComplexDouble().real() : number;
  return number.isComplex() ? number.toComplexDouble().imag() : at::Scalar(0.0);
}

bool is_dtype(const c10::Argument& argument) {
  auto type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

c10::IValue half_of(const c10::Argument& argument, const c10::IValue& value, Half half) {
  if (is_dtype(argument) && value.isInt()) {
    return static_cast<int64_t>(at::toRealValueType(static_cast<at::ScalarType>(value.toInt())));
  }
  const bool number =
      argument.name() == "value" || argument.name() == "fill_value" || argument.name() == "s";
  if (number && value.isScalar()) return half_of_number(value.toScalar(), half);
  TORCH_CHECK(!value.isComplexDouble(), "a complex '", argument.name(), "' is not supported");
  c10::IValue copy = value;
  if (!is_place(argument.name())) {
    map_tensors(copy, [half](const at::Tensor& t) { return half_of(t, half); });
  }
  return copy;
}

torch::jit::Stack call_half(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                            Half half) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < args.size(); ++i) {
    stack.push_back(half_of(op.schema().arguments()[i], args[i], half));
  }
  op.callBoxed(stack);
  return stack;
}

c10::IValue join(const c10::IValue& re, const c10::IValue& im) {
  if (re.isTensor()) return make_complex({re.toTensor(), im.toTensor()});
  c10::List<at::Tensor> list;
  const std::vector<at::Tensor> ims = im.toTensorVector();
  for (size_t i = 0; i < ims.size(); ++i) {
    list.push_back(make_complex({re.toTensorVector()[i], ims[i]}));
  }
  return list;
}

void by_halves(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args, bool real,
               torch::jit::Stack* stack) {
  const torch::jit::Stack re = call_half(op, args, Half::kRe);
  if (real) return stack->push_back(make_complex({re.front().toTensor(), {}}));
  const torch::jit::Stack im = call_half(op, args, Half::kIm);
  for (size_t i = 0; i < re.size(); ++i) stack->push_back(join(re[i], im[i]));
}

// ---------------------------------------------------------------- which calls

bool has_complex(const c10::Argument& argument, const c10::IValue& value) {
  if (value.isComplexDouble()) return true;
  if (value.isInt() && is_dtype(argument)) {
    return at::isComplexType(static_cast<at::ScalarType>(value.toInt()));
  }
  bool found = false;
  c10::IValue copy = value;
  map_tensors(copy, [&found](const at::Tensor& t) {
    found = found || is_complex_tensor(t);
    return t;
  });
  return found;
}

}  // namespace

bool has_complex_operand(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (has_complex(arguments[i], stack[first + i])) return true;
  }
  return false;
}

namespace {

bool makes_complex(const std::string& name) {
  return name == "complex" || name == "polar" || name == "view_as_complex" || name == "angle" ||
         name == "_fft_r2c";
}

bool concerns_complex(const c10::OperatorHandle& op, const std::string& name,
                      const torch::jit::Stack& stack) {
  return makes_complex(name) || has_complex_operand(op, stack);
}

/// A real tensor that complex numbers are written into stays real, as in eager.
bool is_write_into_real(const std::string& name, const std::vector<c10::IValue>& args) {
  return name == "copy" && !is_complex_tensor(args[0].toTensor());
}

/// "view" of "view_copy".
std::string without_copy(std::string name) {
  constexpr std::string_view kCopy = "_copy";
  if (name.size() > kCopy.size() && name.ends_with(kCopy) && name != "_to_copy") {
    name.resize(name.size() - kCopy.size());
  }
  return name;
}

Handler find_handler(const c10::OperatorHandle& op, const std::string& name) {
  const auto exact = handlers().find(name + "." + op.operator_name().overload_name);
  if (exact != handlers().end()) return exact->second;
  const auto any = handlers().find(name);
  return any == handlers().end() ? nullptr : any->second;
}

}  // namespace

bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::optional<std::string> full = aten_name(op);
  if (!full) return false;
  const std::string name = without_copy(*full);
  if (!concerns_complex(op, name, *stack)) return false;
  const std::vector<c10::IValue> args = torch::jit::pop(*stack, op.schema().arguments().size());
  if (const Handler handler = find_handler(op, name)) {
    stack->push_back(handler(RuleArgs(op, args)));
    return true;
  }
  const bool real = real_fills().count(name) != 0;
  const bool reduces = op.operator_name().overload_name.find("reduce") != std::string::npos;
  TORCH_CHECK(real || (linear_ops().count(name) != 0 && !reduces), full_name(op), source_suffix(),
              " on complex numbers is not supported; compute with torch.view_as_real, or with two "
              "real tensors");
  if (is_write_into_real(name, args)) {
    stack->push_back(call_half(op, args, Half::kRe).front());
  } else {
    by_halves(op, args, real, stack);
  }
  return true;
}

}  // namespace lazyrt
