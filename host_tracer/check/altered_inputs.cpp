#include "host_tracer/check/altered_inputs.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace lazyrt {
namespace {

using Random = std::mt19937_64;

enum class Floats {
  kSame,
  kReordered,
  kSmall,
  kLarge,
  kNegated,
  kMixed,
  kLoud,
  kAbove,
  kBelow,
  kMissing,
  kInfinite
};
enum class Integers { kSame, kDrawn, kLow, kHigh, kEnds, kHead, kTail };

struct Kind {
  Floats floats;
  Integers integers;
};

constexpr Kind kKinds[] = {
    {Floats::kReordered, Integers::kDrawn}, {Floats::kLarge, Integers::kHigh},
    {Floats::kNegated, Integers::kDrawn},   {Floats::kMixed, Integers::kEnds},
    {Floats::kReordered, Integers::kSame},  {Floats::kSame, Integers::kDrawn},
    {Floats::kSmall, Integers::kLow},       {Floats::kMixed, Integers::kDrawn},
    {Floats::kSame, Integers::kHead},       {Floats::kSame, Integers::kTail},
    {Floats::kAbove, Integers::kDrawn},     {Floats::kLoud, Integers::kSame},
    {Floats::kBelow, Integers::kSame},      {Floats::kMissing, Integers::kSame},
    {Floats::kInfinite, Integers::kSame},
};

AlteredFor programs_of(Floats floats) {
  if (floats >= Floats::kMissing) return AlteredFor::kGaps;
  return floats >= Floats::kLoud ? AlteredFor::kKeeping : AlteredFor::kAll;
}

const char* text_of(Floats floats) {
  static constexpr const char* kTexts[] = {"",         "reordered",      "x 0.01",
                                           "x 30",     "negated",        "of mixed sizes and signs",
                                           "x 1000",   "all above 10",   "all below -10",
                                           "with NaN", "with infinities"};
  return kTexts[static_cast<size_t>(floats)];
}

const char* text_of(Integers integers) {
  static constexpr const char* kTexts[] = {"",
                                           "drawn anew",
                                           "at their lower end",
                                           "at their upper end",
                                           "at both ends",
                                           "true up to a place",
                                           "true from a place on"};
  return kTexts[static_cast<size_t>(integers)];
}

at::Tensor random_numbers(int64_t n, double low, double high, Random& random) {
  at::Tensor result = at::empty({n}, at::kDouble);
  std::uniform_real_distribution<double> uniform(low, high);
  std::generate_n(result.mutable_data_ptr<double>(), n, [&] { return uniform(random); });
  return result;
}

at::Tensor reordered(const at::Tensor& flat, Random& random) {
  at::Tensor order = at::arange(flat.numel(), at::kLong);
  auto* ids = order.mutable_data_ptr<int64_t>();
  std::shuffle(ids, ids + order.numel(), random);
  return flat.index_select(0, order);
}

/// One element cannot be reordered, and reordered equal elements look the same.
at::Tensor reordered_or_moved(const at::Tensor& x, Random& random) {
  at::Tensor other = reordered(x, random);
  if (!at::equal(other, x)) return other;
  return x + random_numbers(x.numel(), 0.5, 1.5, random) * (1 + x.abs());
}

at::Tensor mixed(const at::Tensor& x, Random& random) {
  const at::Tensor size = at::pow(10.0, random_numbers(x.numel(), -2, 1.5, random));
  const at::Tensor sign = random_numbers(x.numel(), -1, 1, random).sign();
  return reordered(x, random) * size * sign;
}

/// Makes an eighth of the elements, at least one, NaN or an infinity of either sign.
at::Tensor with_gaps(const at::Tensor& x, bool infinite, Random& random) {
  const at::Tensor size = random_numbers(x.numel(), -1, 1, random);
  const int64_t count = (x.numel() + 7) / 8;
  const at::Tensor places = std::get<1>(size.abs().topk(std::min(count, x.numel())));
  at::Tensor gaps = at::full_like(x, std::numeric_limits<double>::quiet_NaN());
  if (infinite) gaps = size.sign() * std::numeric_limits<double>::infinity();
  return x.index_copy(0, places, gaps.index_select(0, places));
}

at::Tensor altered_numbers(const at::Tensor& x, Floats how, Random& random) {
  switch (how) {
    case Floats::kReordered:
      return reordered_or_moved(x, random);
    case Floats::kSmall:
      return x * 0.01;
    case Floats::kLarge:
      return x * 30;
    case Floats::kNegated:
      return -x;
    case Floats::kMixed:
      return mixed(x, random);
    case Floats::kLoud:
      return x * 1000;
    case Floats::kAbove:
      return x.abs() * 10 + 10;
    case Floats::kBelow:
      return x.abs() * -10 - 10;
    case Floats::kMissing:
      return with_gaps(x, false, random);
    case Floats::kInfinite:
      return with_gaps(x, true, random);
    case Floats::kSame:
      return x;
  }
  return x;
}

at::Tensor altered_floats(const at::Tensor& flat, Floats how, Random& random) {
  const at::Tensor x = flat.to(at::kDouble), finite = at::isfinite(x);
  const at::Tensor changed = altered_numbers(x.masked_select(finite), how, random);
  return x.masked_scatter(finite, changed).to(flat.scalar_type());
}

/// The values that an integer input may take.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
};

Range range_of(const at::Tensor& flat) {
  const at::Tensor x = flat.to(at::kLong);
  const Range seen = {x.min().item<int64_t>(), x.max().item<int64_t>()};
  if (seen.low != seen.high || flat.scalar_type() == at::kBool) return seen;
  if (seen.low == 0 || seen.low == 1) return {0, 1};
  return {seen.low >= 0 ? std::max<int64_t>(0, seen.low - 2) : seen.low - 2, seen.high + 2};
}

at::Tensor drawn(int64_t n, Range range, Random& random) {
  at::Tensor result = at::empty({n}, at::kLong);
  std::uniform_int_distribution<int64_t> uniform(range.low, range.high);
  std::generate_n(result.mutable_data_ptr<int64_t>(), n, [&] { return uniform(random); });
  return result;
}

at::Tensor altered_integers(const at::Tensor& flat, Integers how, Random& random) {
  const int64_t n = flat.numel();
  const Range range = range_of(flat);
  at::Tensor result = flat;
  if (how == Integers::kDrawn) result = drawn(n, range, random);
  if (how == Integers::kLow) result = at::full({n}, range.low, at::kLong);
  if (how == Integers::kHigh) result = at::full({n}, range.high, at::kLong);
  if (how == Integers::kEnds) {
    result = drawn(n, {0, 1}, random) * (range.high - range.low) + range.low;
  }
  return result.to(flat.scalar_type());
}

at::Tensor altered_truths(const at::Tensor& flat, Integers how, Random& random) {
  if (how == Integers::kSame) return flat;
  if (how == Integers::kDrawn) return drawn(flat.numel(), {0, 1}, random).to(at::kBool);
  return at::logical_not(flat);
}

/// Whether it may be a mask of padding, or of everything that is not padding.
bool is_mask(const at::Tensor& x) {
  if (at::isFloatingType(x.scalar_type()) || x.dim() < 1 || x.size(-1) < 2) return false;
  return x.scalar_type() == at::kBool || at::logical_or(x == 0, x == 1).all().item<bool>();
}

/// In each row 1 up to a position of its own, then 0; the other way round for the tail.
at::Tensor padded(const at::Tensor& mask, Integers how, Random& random) {
  const int64_t width = mask.size(-1);
  const at::Tensor ends = drawn(mask.numel() / width, {1, width - 1}, random).unsqueeze(1);
  const at::Tensor head = at::arange(width, at::kLong) < ends;
  return (how == Integers::kHead ? head : at::logical_not(head)).to(mask.scalar_type());
}

at::Tensor altered(const at::Tensor& sample, Kind kind, Random& random) {
  if (sample.numel() == 0) return sample.clone();
  if (kind.integers == Integers::kHead || kind.integers == Integers::kTail) {
    if (!is_mask(sample)) return sample.detach().contiguous().clone();
    return padded(sample.detach(), kind.integers, random).reshape(sample.sizes()).contiguous();
  }
  const at::Tensor flat = sample.detach().contiguous().reshape({-1});
  at::Tensor other;
  if (at::isFloatingType(sample.scalar_type())) {
    other = altered_floats(flat, kind.floats, random);
  } else if (sample.scalar_type() == at::kBool) {
    other = altered_truths(flat, kind.integers, random);
  } else {
    other = altered_integers(flat, kind.integers, random);
  }
  return other.reshape(sample.sizes()).contiguous().clone();
}

bool same_inputs(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return true;
}

std::string describe(Kind kind, bool has_floats, bool has_others) {
  std::string text;
  if (has_floats && kind.floats != Floats::kSame)
    text = std::string("floats ") + text_of(kind.floats);
  if (has_others && kind.integers != Integers::kSame) {
    text += (text.empty() ? "" : ", ") + std::string("integers ") + text_of(kind.integers);
  }
  return text;
}

/// SplitMix64 (Steele et al. 2014): the random bits for a position.
uint64_t bits_at(uint64_t seed, uint64_t place) {
  uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr int64_t kBlock = 32;  // elements that share the bits of one number
constexpr auto kPlaces = [] {
  std::array<uint32_t, kBlock> bits{};
  for (size_t i = 0; i < kBlock; ++i) bits[i] = 1u << i;
  return bits;
}();

/// Moves each element by that many last places, up if its bit is set: std::nextafter without a
/// branch, so that the compiler can do several at once.
template <class T, class Bits>
void move_block(const T* __restrict from, T* __restrict to, int places, uint32_t ups) {
  const T more = static_cast<T>(places - 1), least = std::numeric_limits<T>::denorm_min();
  for (int64_t i = 0; i < kBlock; ++i) {
    const T old = from[i];
    const Bits bits = std::bit_cast<Bits>(old), sign = 0 - (bits >> (sizeof(Bits) * 8 - 1));
    const Bits up = (ups & kPlaces[static_cast<size_t>(i)]) != 0 ? ~Bits{0} : Bits{0};
    const T away = std::bit_cast<T>(bits - 1 - 2 * (sign ^ up));
    const T one = old == 0 ? (up != 0 ? least : -least) : away;
    const T next = one + (one - old) * more;
    to[i] = std::abs(next) <= std::numeric_limits<T>::max() ? next : old;
  }
}

template <class T, class Bits>
at::Tensor moved(const at::Tensor& x, int places, uint64_t seed, bool mirrored) {
  const int64_t n = x.numel();
  at::Tensor result = at::empty_like(x);
  const T* from = x.const_data_ptr<T>();
  T* to = result.mutable_data_ptr<T>();
  at::parallel_for(0, (n + kBlock - 1) / kBlock, 2048, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock, count = std::min(kBlock, n - first);
      const uint64_t bits = bits_at(seed, static_cast<uint64_t>(block));
      const uint32_t ups = static_cast<uint32_t>(mirrored ? ~bits : bits);
      if (count == kBlock) {
        move_block<T, Bits>(from + first, to + first, places, ups);
      } else {
        T last[kBlock] = {}, rest[kBlock];
        std::copy_n(from + first, count, last);
        move_block<T, Bits>(last, rest, places, ups);
        std::copy_n(rest, count, to + first);
      }
    }
  });
  return result;
}

/// For types with few bits: moves by that fraction of the number.
at::Tensor moved_narrow(const at::Tensor& x, int places, uint64_t seed, bool mirrored) {
  Random random(seed);
  const double step = places * (x.scalar_type() == at::kBFloat16 ? 0x1p-8 : 0x1p-11);
  const at::Tensor sign = random_numbers(x.numel(), -1, 1, random).sign().reshape(x.sizes());
  const at::Tensor wide = x.to(at::kDouble);
  return (wide + wide * sign * (mirrored ? -step : step)).to(x.scalar_type());
}

}  // namespace

std::vector<AlteredInputs> altered_inputs(const std::vector<at::Tensor>& sample, uint64_t seed) {
  Random random(seed);
  const auto is_floating = [](const at::Tensor& t) { return at::isFloatingType(t.scalar_type()); };
  const bool has_floats = std::any_of(sample.begin(), sample.end(), is_floating);
  const bool has_others = !std::all_of(sample.begin(), sample.end(), is_floating);
  std::vector<AlteredInputs> cases;
  for (const Kind kind : kKinds) {
    if (!has_floats && programs_of(kind.floats) == AlteredFor::kGaps) continue;
    AlteredInputs one{describe(kind, has_floats, has_others), {}, programs_of(kind.floats)};
    for (const at::Tensor& t : sample) one.tensors.push_back(altered(t, kind, random));
    bool known = same_inputs(one.tensors, sample);
    for (const AlteredInputs& other : cases) {
      known = known || same_inputs(one.tensors, other.tensors);
    }
    if (!known) cases.push_back(std::move(one));
  }
  return cases;
}

at::Tensor nudged(const at::Tensor& tensor, int places, uint64_t seed, bool mirrored) {
  const at::Tensor x = tensor.detach().contiguous();
  if (!at::isFloatingType(x.scalar_type())) return x.clone();
  if (x.scalar_type() == at::kFloat) return moved<float, uint32_t>(x, places, seed, mirrored);
  if (x.scalar_type() == at::kDouble) return moved<double, uint64_t>(x, places, seed, mirrored);
  return moved_narrow(x, places, seed, mirrored);
}

at::Tensor loosened(const at::Tensor& tensor, uint64_t seed, bool mirrored) {
  Random random(seed);
  const at::Tensor x = tensor.detach().to(at::kDouble);
  const double sign = mirrored ? -1 : 1;
  const at::Tensor step = random_numbers(x.numel(), -1, 1, random).reshape(x.sizes());
  const at::Tensor size = at::where(at::isfinite(x), x.abs(), at::zeros({}, x.options()));
  const double largest = x.numel() == 0 ? 0 : size.max().item<double>();
  return (x + (size * 0x1p-18 + largest * 0x1p-20 + 1e-35) * step * sign).to(tensor.scalar_type());
}

}  // namespace lazyrt
