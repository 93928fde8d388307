#pragma once

// Arithmetic of complex numbers by halves.

#include "host_tracer/record/complex_value.h"

namespace lazyrt {

ComplexParts complex_add(const ComplexParts& x, const ComplexParts& y);
ComplexParts complex_subtract(const ComplexParts& x, const ComplexParts& y);
ComplexParts complex_negative(const ComplexParts& x);
ComplexParts complex_multiply(const ComplexParts& x, const ComplexParts& y);
ComplexParts complex_divide(const ComplexParts& x, const ComplexParts& y);
at::Tensor complex_abs(const ComplexParts& x);
at::Tensor complex_angle(const ComplexParts& x);
ComplexParts complex_exp(const ComplexParts& x);
ComplexParts complex_log(const ComplexParts& x);
ComplexParts complex_sqrt(const ComplexParts& x);
ComplexParts complex_power(const ComplexParts& x, const ComplexParts& y);
ComplexParts complex_sinh(const ComplexParts& x);
ComplexParts complex_cosh(const ComplexParts& x);
ComplexParts complex_tanh(const ComplexParts& x);
ComplexParts complex_sin(const ComplexParts& x);
ComplexParts complex_cos(const ComplexParts& x);

/// torch.matmul of real operands. LibTorch's own writes in place where one is a vector.
at::Tensor real_matmul(const at::Tensor& a, const at::Tensor& b);

/// A bilinear `product` (mm, bmm) of complex operands.
template <class Product>
ComplexParts complex_product(const ComplexParts& x, const ComplexParts& y, const Product& product) {
  if (!x.im.defined() && !y.im.defined()) return {product(x.re, y.re), {}};
  if (!x.im.defined()) return {product(x.re, y.re), product(x.re, y.im)};
  if (!y.im.defined()) return {product(x.re, y.re), product(x.im, y.re)};
  return {product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re)};
}

}  // namespace lazyrt
