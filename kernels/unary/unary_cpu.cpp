// Elementwise functions of one operand: float32 in vectors; the rest is left to the reference.

#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel unary_cpu;

namespace {

using Fn = fb::UnaryFn;

/// The vector routine of fn, or kCount.
VectorFn vector_fn(Fn fn) {
  switch (fn) {
    case Fn::Abs:
      return VectorFn::kAbs;
    case Fn::Neg:
      return VectorFn::kNeg;
    case Fn::Relu:
      return VectorFn::kRelu;
    case Fn::Sigmoid:
      return VectorFn::kSigmoid;
    case Fn::Tanh:
      return VectorFn::kTanh;
    case Fn::Exp:
      return VectorFn::kExp;
    case Fn::Sqrt:
      return VectorFn::kSqrt;
    case Fn::Rsqrt:
      return VectorFn::kRsqrt;
    case Fn::Reciprocal:
      return VectorFn::kReciprocal;
    case Fn::Square:
      return VectorFn::kSquare;
    case Fn::Erf:
      return VectorFn::kErf;
    case Fn::Floor:
      return VectorFn::kFloor;
    case Fn::Ceil:
      return VectorFn::kCeil;
    case Fn::Round:
      return VectorFn::kRound;
    case Fn::Trunc:
      return VectorFn::kTrunc;
    case Fn::Sign:
      return VectorFn::kSign;
    case Fn::Gelu:
      return VectorFn::kGelu;
    case Fn::GeluTanh:
      return VectorFn::kGeluTanh;
    case Fn::Silu:
      return VectorFn::kSilu;
    case Fn::Hardswish:
      return VectorFn::kHardswish;
    case Fn::Hardsigmoid:
      return VectorFn::kHardsigmoid;
    case Fn::Mish:
      return VectorFn::kMish;
    case Fn::Clamp:
      return VectorFn::kClamp;
    case Fn::LeakyRelu:
      return VectorFn::kLeakyRelu;
    case Fn::Elu:
      return VectorFn::kElu;
    default:
      return VectorFn::kCount;
  }
}

Status supports(const NodeSpec& node) {
  const Fn fn = node.attrs.as<fb::Unary>().fn();
  if (node.inputs[0].dtype != DType::kFloat32 || vector_fn(fn) == VectorFn::kCount) {
    return Status(Error::kUnsupported, "%s of %s has no vector form", fb::EnumNameUnaryFn(fn),
                  dtype_name(node.inputs[0].dtype));
  }
  return {};
}

Status run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::Unary>();
  const UnaryRow row = cpu.vector->unary[static_cast<size_t>(vector_fn(a.fn()))];
  const auto alpha = static_cast<float>(a.alpha());
  const auto beta = static_cast<float>(a.beta());
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  constexpr size_t kCost = 4;
  parallel_for(
      cpu, static_cast<size_t>(context.inputs[0].numel()), grain_of(kCost),
      [=](size_t begin, size_t end) { row(x + begin, y + begin, end - begin, alpha, beta); });
  return {};
}

}  // namespace

const Kernel unary_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
