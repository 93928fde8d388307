#include "host_tracer/record/perturb.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace lazyrt {
namespace {

using Random = std::mt19937_64;

/// A reordering that moves about `count` of n elements.
at::Tensor reordering(int64_t n, int64_t count, Random& random) {
  at::Tensor order = at::arange(n, at::kLong);
  int64_t* ids = order.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    std::uniform_int_distribution<int64_t> pick(i, n - 1);
    std::swap(ids[i], ids[pick(random)]);
  }
  return order;
}

at::Tensor reordered(const at::Tensor& flat, int64_t count, Random& random) {
  return flat.index_select(0, reordering(flat.numel(), count, random));
}

/// How far apart the values lie; if all are equal, their size, or 1 for zeros.
double spread(const at::Tensor& finite) {
  if (finite.numel() == 0) return 1.0;
  const double deviation = finite.std(/*unbiased=*/false).item<double>();
  if (deviation > 0) return deviation;
  const double size = finite.abs().max().item<double>();
  return size > 0 ? size : 1.0;
}

at::Tensor noise(int64_t n, Random& random) {
  at::Tensor result = at::empty({n}, at::kDouble);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::generate_n(result.mutable_data_ptr<double>(), n, [&] { return uniform(random); });
  return result;
}

at::Tensor perturbed_floats(const at::Tensor& flat, int level, Random& random) {
  at::Tensor x = flat.to(at::kDouble);
  const at::Tensor finite = at::isfinite(x);
  const double size = spread(x.masked_select(finite)) * std::pow(10.0, -(level + 1));
  if (level == 0)
    x.masked_scatter_(finite,
                      reordered(x.masked_select(finite), finite.sum().item<int64_t>(), random));
  return at::where(finite, x + noise(x.numel(), random) * size, x).to(flat.scalar_type());
}

/// At least two elements change places, where there are two.
at::Tensor perturbed_integers(const at::Tensor& flat, int level, Random& random) {
  const int64_t n = flat.numel();
  if (level == 0) return reordered(flat, n, random);
  const double share = static_cast<double>(n) * std::pow(10.0, -level);
  return reordered(flat, std::clamp<int64_t>(static_cast<int64_t>(share), 1, n), random);
}

}  // namespace

at::Tensor perturbed(const at::Tensor& cpu, int level, uint64_t seed) {
  if (cpu.numel() == 0) return cpu.clone();
  Random random(seed);
  const at::Tensor flat = cpu.detach().contiguous().reshape({-1});
  const bool floating = at::isFloatingType(cpu.scalar_type());
  const at::Tensor other =
      floating ? perturbed_floats(flat, level, random) : perturbed_integers(flat, level, random);
  return other.reshape(cpu.sizes()).contiguous();
}

at::Tensor enlarged(const at::Tensor& tensor, const Enlargement& by) {
  const at::Tensor plain = tensor.detach();
  if (plain.scalar_type() == at::kBool) return plain;
  if (!at::isIntegralType(plain.scalar_type(), /*includeBool=*/false))
    return plain * by.scale + by.shift;
  const at::Tensor places = at::arange(plain.numel(), at::kLong).view(plain.sizes());
  return (plain * by.factor + places * by.step).to(plain.scalar_type());
}

}  // namespace lazyrt
