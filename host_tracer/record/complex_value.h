#pragma once

// Complex tensors of a capture: pairs of real ones. No node of a trace is complex; a complex lazy
// tensor stands for its halves, or for one real tensor with a last dim of 2.

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

namespace lazyrt {

/// Real and imaginary part, lazy or numbers. An undefined `im` is zero.
struct ComplexParts {
  at::Tensor re, im;
};

bool is_complex_tensor(const at::Tensor& t);

/// The halves of a tensor, lazy or on the CPU; for a real tensor, itself and nothing.
ComplexParts complex_parts(const at::Tensor& t);

/// The complex lazy tensor of these halves; `im` is broadcast to `re`.
at::Tensor make_complex(ComplexParts parts);

/// The complex lazy tensor over pairs: a real lazy tensor [..., 2].
at::Tensor complex_of_pairs(const at::Tensor& pairs);
torch::lazy::Value complex_of_pairs(const torch::lazy::Value& pairs);

/// A complex value as pairs [..., 2]; any other as it is.
torch::lazy::Value without_complex(const torch::lazy::Value& value);
at::Tensor as_pairs(const at::Tensor& complex);

/// A number as an operand that takes part in type promotion by its category alone.
at::Tensor number_operand(const at::Scalar& value);

}  // namespace lazyrt
