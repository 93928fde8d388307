#include "host_tracer/lower/complex_fft.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "host_tracer/lower/complex_math.h"
#include "host_tracer/record/capture_session.h"

namespace lazyrt {
namespace {

/// Up to here one product is the whole transform; longer ones are split by a divisor.
constexpr int64_t kOneProduct = 160;
/// A matrix of this many rows has 64 MB.
constexpr int64_t kLargestProduct = 2048;

using Parts = ComplexParts;

/// cos and sin of 2 pi (rows x columns) / n, in double.
struct Waves {
  at::Tensor cos, sin;
};

Waves waves(int64_t rows, int64_t columns, int64_t n) {
  const at::Tensor steps =
      at::remainder(at::outer(at::arange(rows, at::kLong), at::arange(columns, at::kLong)), n);
  const at::Tensor angle =
      at::mul(steps.to(at::kDouble), 2 * std::numbers::pi / static_cast<double>(n));
  const auto exact = [&](at::Tensor wave, int64_t quarter) {  // 0 at its zeros, not 6e-17
    const at::Tensor quarters = at::remainder(at::mul(steps, 4), 4 * n);
    const at::Tensor zero = at::eq(at::remainder(at::sub(quarters, quarter * n), 2 * n), 0);
    return wave.masked_fill(zero, 0);
  };
  return {exact(at::cos(angle), 1), exact(at::sin(angle), 0)};
}

/// A table computed on the CPU, once for each key and capture, as a constant of type `dtype`.
template <class Make>
at::Tensor table(std::vector<int64_t> key, at::ScalarType dtype, const Make& make) {
  CaptureSession& session = *CaptureSession::current();
  key.push_back(static_cast<int64_t>(dtype));
  at::Tensor& known = session.table(key);
  if (!known.defined()) known = make().to(dtype).contiguous();
  return session.add_constant(known);
}

enum Table : int64_t { kFull, kHalf, kBack, kTwiddleRe, kTwiddleIm };

Parts halves(const at::Tensor& joined) {
  const int64_t n = joined.size(-1) / 2;
  return {at::slice_copy(joined, -1, 0, n), at::slice_copy(joined, -1, n, 2 * n)};
}

/// The last dim by one product: [re, im] times [[c, -s], [s, c]] (forward).
Parts whole_product(const Parts& x, bool forward) {
  const int64_t n = x.re.size(-1);
  TORCH_CHECK(n <= kLargestProduct, "a Fourier transform over ", n,
              " elements is too long for this device: their number has no divisor to split it by");
  const bool real = !x.im.defined();
  const at::Tensor matrix = table({kFull, n, forward, real}, x.re.scalar_type(), [&] {
    const Waves w = waves(n, n, n);
    const at::Tensor s = forward ? w.sin : w.sin.neg();
    const at::Tensor top = at::cat({w.cos, s.neg()}, 1);
    return real ? top : at::cat({top, at::cat({s, w.cos}, 1)}, 0);
  });
  return halves(real_matmul(real ? x.re : at::cat({x.re, x.im}, -1), matrix));
}

/// The divisor next to the root of n; 1 for primes.
int64_t middle_divisor(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (d > 1 && n % d != 0) --d;
  return d;
}

Parts each(const Parts& x, const std::function<at::Tensor(const at::Tensor&)>& fn) {
  return {fn(x.re), x.im.defined() ? fn(x.im) : at::Tensor()};
}

Parts swap_last(const Parts& x) {
  return each(x, [](const at::Tensor& t) { return at::transpose_copy(t, -1, -2); });
}

Parts last_dim(const Parts& x, bool forward);

/// Cooley and Tukey's split: n = rows * columns, element (r, c) is r * columns + c.
Parts split_transform(const Parts& x, int64_t rows, bool forward) {
  const int64_t n = x.re.size(-1), columns = n / rows;
  const at::ScalarType dtype = x.re.scalar_type();
  std::vector<int64_t> sizes = x.re.sizes().vec();
  const std::vector<int64_t> flat = sizes;
  sizes.back() = rows;
  sizes.push_back(columns);
  const Parts grid = each(x, [&](const at::Tensor& t) { return at::_reshape_copy(t, sizes); });
  const Parts by_rows = swap_last(last_dim(swap_last(grid), forward));
  const at::Tensor cos =
      table({kTwiddleRe, rows, columns}, dtype, [&] { return waves(rows, columns, n).cos; });
  const at::Tensor sin = table({kTwiddleIm, rows, columns, forward}, dtype, [&] {
    const at::Tensor s = waves(rows, columns, n).sin;
    return forward ? s.neg() : s;
  });
  const Parts turned = complex_multiply(by_rows, {cos, sin});
  const Parts result = swap_last(last_dim(turned, forward));
  return each(result, [&](const at::Tensor& t) { return at::_reshape_copy(t, flat); });
}

Parts last_dim(const Parts& x, bool forward) {
  const int64_t n = x.re.size(-1);
  const int64_t divisor = n > kOneProduct ? middle_divisor(n) : 1;
  return divisor > 1 ? split_transform(x, divisor, forward) : whole_product(x, forward);
}

Parts first_frequencies(const Parts& x) {
  const int64_t kept = x.re.size(-1) / 2 + 1;
  return each(x, [&](const at::Tensor& t) { return at::slice_copy(t, -1, 0, kept); });
}

Parts real_last_dim(const at::Tensor& x) {
  const int64_t n = x.size(-1);
  if (n > kOneProduct && middle_divisor(n) > 1) return first_frequencies(last_dim({x, {}}, true));
  const at::Tensor matrix = table({kHalf, n}, x.scalar_type(), [&] {
    const Waves w = waves(n, n / 2 + 1, n);
    return at::cat({w.cos, w.sin.neg()}, 1);
  });
  return halves(real_matmul(x, matrix));
}

/// The frequencies above the half are the conjugates of those below: each counts twice, but the
/// first and, of an even size, the last.
at::Tensor back_by_product(const Parts& x, int64_t n) {
  const at::Tensor matrix = table({kBack, n}, x.re.scalar_type(), [&] {
    const int64_t kept = n / 2 + 1;
    const Waves w = waves(kept, n, n);
    at::Tensor weight = at::full({kept, 1}, 2.0, at::kDouble);
    weight[0] = 1;
    if (n % 2 == 0) weight[kept - 1] = 1;
    return at::cat({at::mul(w.cos, weight), at::mul(w.sin, weight).neg()}, 0);
  });
  return real_matmul(at::cat({x.re, x.im}, -1), matrix);
}

/// All frequencies from the half: the others are conjugates in reverse order.
Parts all_frequencies(const Parts& x, int64_t n) {
  const auto join = [&](const at::Tensor& t, bool negative) {
    const at::Tensor mirrored = at::flip(at::slice_copy(t, -1, 1, (n + 1) / 2), {-1});
    return at::cat({t, negative ? at::neg(mirrored) : mirrored}, -1);
  };
  const int64_t last = x.re.size(-1) - 1;
  const at::Tensor no_im = at::zeros_like(at::slice_copy(x.im, -1, 0, 1));
  std::vector<at::Tensor> im = {no_im, at::slice_copy(x.im, -1, 1, n % 2 == 0 ? last : last + 1)};
  if (n % 2 == 0 && n > 1) im.push_back(no_im);
  return {join(x.re, false), join(at::cat(im, -1), true)};
}

at::Tensor back_last_dim(const Parts& x, int64_t n) {
  if (n <= kOneProduct || middle_divisor(n) == 1) return back_by_product(x, n);
  return last_dim(all_frequencies(x, n), false).re;
}

Parts normalized(const Parts& x, int64_t elements, int64_t normalization) {
  if (normalization == 0) return x;
  const auto count = static_cast<double>(elements);
  const double scale = 1 / (normalization == 1 ? std::sqrt(count) : count);
  return each(x, [&](const at::Tensor& t) { return at::mul(t, scale); });
}

Parts moved(const Parts& x, int64_t dim) {
  if (dim == -1 || dim == x.re.dim() - 1) return x;
  return each(x, [&](const at::Tensor& t) { return at::transpose_copy(t, dim, -1); });
}

int64_t elements_of(const at::Tensor& x, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= x.size(dim);
  return count;
}

Parts over_dims(Parts x, const std::vector<int64_t>& dims, bool forward) {
  for (const int64_t dim : dims) x = moved(last_dim(moved(x, dim), forward), dim);
  return x;
}

std::vector<int64_t> all_but_last(const Fft& fft) { return {fft.dims.begin(), fft.dims.end() - 1}; }

}  // namespace

ComplexParts fft_c2c(const ComplexParts& x, const Fft& fft, bool forward) {
  return normalized(over_dims(x, fft.dims, forward), elements_of(x.re, fft.dims),
                    fft.normalization);
}

ComplexParts fft_r2c(const at::Tensor& x, const Fft& fft, bool onesided) {
  const int64_t last = fft.dims.back();
  const Parts line = moved({x, {}}, last);
  const Parts half = moved(onesided ? real_last_dim(line.re) : last_dim(line, true), last);
  return normalized(over_dims(half, all_but_last(fft), true), elements_of(x, fft.dims),
                    fft.normalization);
}

at::Tensor fft_c2r(const ComplexParts& x, const Fft& fft, int64_t size) {
  const int64_t last = fft.dims.back();
  const Parts lines = moved(over_dims(x, all_but_last(fft), false), last);
  const Parts back = moved({back_last_dim(lines, size), {}}, last);
  return normalized(back, elements_of(back.re, fft.dims), fft.normalization).re;
}

}  // namespace lazyrt
