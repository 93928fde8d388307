#include "host_tracer/check/altered_inputs.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace lazyrt {
namespace {

TEST(AlteredInputs, FloatsChangeInScaleSignAndOrder) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, -4.0f, std::numeric_limits<float>::infinity()});
  bool larger = false, smaller = false, negated = false, loud = false, above = false, below = false;
  for (const AlteredInputs& one : altered_inputs({x}, 1)) {
    if (one.programs == AlteredFor::kGaps) continue;
    const at::Tensor& y = one.tensors[0];
    EXPECT_EQ(y.scalar_type(), at::kFloat);
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_FALSE(at::equal(x, y)) << one.how;
    EXPECT_TRUE(std::isinf(y[3].item<float>())) << one.how;
    larger = larger || y[0].item<float>() == 30;
    smaller = smaller || std::fabs(y[0].item<float>() - 0.01f) < 1e-9;
    negated = negated || y[0].item<float>() == -1;
    loud = loud || y[0].item<float>() == 1000;
    above = above || y.min().item<float>() >= 10;
    below = below || y.slice(0, 0, 3).max().item<float>() <= -10;
  }
  EXPECT_TRUE(larger && smaller && negated && loud && above && below);
}

TEST(AlteredInputs, GapsAreInAFewPlaces) {
  bool missing = false, infinite = false;
  for (const at::Tensor& x : {at::rand({4, 16}), at::rand({1})}) {
    for (const AlteredInputs& one : altered_inputs({x}, 1)) {
      const int64_t gaps = x.numel() - at::isfinite(one.tensors[0]).sum().item<int64_t>();
      EXPECT_EQ(gaps, one.programs == AlteredFor::kGaps ? (x.numel() + 7) / 8 : 0) << one.how;
      missing = missing || at::isnan(one.tensors[0]).any().item<bool>();
      infinite = infinite || at::isinf(one.tensors[0]).any().item<bool>();
    }
  }
  EXPECT_TRUE(missing && infinite);
}

TEST(AlteredInputs, IntegersStayInTheirSeenRangeAndReachItsEnds) {
  const at::Tensor ids = at::tensor({3, 9, 5, 7}, at::kLong);
  std::set<int64_t> seen;
  for (const AlteredInputs& one : altered_inputs({ids}, 1)) {
    for (int i = 0; i < 4; ++i) seen.insert(one.tensors[0][i].item<int64_t>());
  }
  EXPECT_EQ(*seen.begin(), 3);
  EXPECT_EQ(*seen.rbegin(), 9);
  EXPECT_GT(seen.size(), 3u);
}

TEST(AlteredInputs, ASingleIntegerIsDrawnAround) {
  std::set<int64_t> seen;
  for (const AlteredInputs& one : altered_inputs({at::tensor(5, at::kLong)}, 1)) {
    seen.insert(one.tensors[0].item<int64_t>());
  }
  EXPECT_EQ(*seen.begin(), 3);
  EXPECT_EQ(*seen.rbegin(), 7);
  EXPECT_EQ(seen.count(5), 0u);  // that is the sample
}

TEST(AlteredInputs, OneKindIsAlsoAlteredAlone) {
  const at::Tensor x = at::rand({64}), ids = at::arange(64, at::kLong), mask = x > 0.5;
  bool floats_alone = false, others_alone = false;
  for (const AlteredInputs& one : altered_inputs({x, ids, mask}, 1)) {
    const bool same_x = at::equal(one.tensors[0], x), same_ids = at::equal(one.tensors[1], ids);
    floats_alone = floats_alone || (!same_x && same_ids && at::equal(one.tensors[2], mask));
    others_alone = others_alone || (same_x && !same_ids && !at::equal(one.tensors[2], mask));
  }
  EXPECT_TRUE(floats_alone && others_alone);
}

TEST(AlteredInputs, MasksArePaddedAtTheEndOfEachRow) {
  const at::Tensor x = at::rand({3, 8}), ids = at::arange(8, at::kLong);
  for (const at::Tensor& mask : {at::zeros({3, 8}, at::kBool), at::ones({3, 8}, at::kLong)}) {
    bool head = false, tail = false;
    for (const AlteredInputs& one : altered_inputs({x, mask, ids}, 1)) {
      const at::Tensor& y = one.tensors[1];
      EXPECT_EQ(y.scalar_type(), mask.scalar_type());
      const at::Tensor steps = y.to(at::kLong).diff(1, 1), ends = y.to(at::kLong).sum(1);
      if (!at::equal(one.tensors[0], x) || !at::equal(one.tensors[2], ids)) continue;
      if (ends.min().item<int64_t>() < 1 || ends.max().item<int64_t>() > 7) continue;
      head = head || steps.max().item<int64_t>() <= 0;
      tail = tail || steps.min().item<int64_t>() >= 0;
    }
    EXPECT_TRUE(head && tail);
  }
}

TEST(AlteredInputs, TheSeedTellsThem) {
  const at::Tensor x = at::rand({64});
  const auto a = altered_inputs({x}, 1), b = altered_inputs({x}, 1), c = altered_inputs({x}, 2);
  EXPECT_TRUE(at::equal(a[0].tensors[0], b[0].tensors[0]));
  EXPECT_FALSE(at::equal(a[0].tensors[0], c[0].tensors[0]));
}

TEST(AlteredInputs, NothingIsLeftOfEmptyOnes) {
  EXPECT_TRUE(altered_inputs({at::empty({0, 4})}, 1).empty());
  EXPECT_TRUE(altered_inputs({}, 1).empty());
}

TEST(Nudged, MovesEachElementByOnePlaceAndMirrors) {
  const at::Tensor x = at::tensor({1.0f, 0.0f, -5.0f});
  const at::Tensor up = nudged(x, 1, 1, false), down = nudged(x, 1, 1, true);
  for (int i = 0; i < 3; ++i) {
    const float a = x[i].item<float>(), b = up[i].item<float>(), c = down[i].item<float>();
    EXPECT_TRUE(b == std::nextafter(a, 100.0f) || b == std::nextafter(a, -100.0f));
    EXPECT_NE(b, c);
    EXPECT_NE(c, a);
  }
  EXPECT_TRUE(at::equal(nudged(at::arange(4), 1, 1, false), at::arange(4)));
}

template <class T>
void expect_as_by_nextafter(const at::Tensor& x, int places) {
  const at::Tensor up = nudged(x, places, 1, false), down = nudged(x, places, 1, true);
  int64_t rose = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const T before = x[i].item<T>();
    const auto moved = [&](T towards) {
      const T one = std::nextafter(before, towards);
      const T next = one + (one - before) * static_cast<T>(places - 1);
      return std::isfinite(next) ? next : before;
    };
    const T inf = std::numeric_limits<T>::infinity(), a = up[i].item<T>(), b = down[i].item<T>();
    if (std::isnan(before)) {
      EXPECT_TRUE(std::isnan(a) && std::isnan(b));
      continue;
    }
    EXPECT_TRUE((a == moved(inf) && b == moved(-inf)) || (a == moved(-inf) && b == moved(inf)))
        << before << " became " << a << " and " << b;
    rose += a > before ? 1 : 0;
  }
  EXPECT_GT(rose, x.numel() * 2 / 5);
  EXPECT_LT(rose, x.numel() * 3 / 5);
}

TEST(Nudged, IsNextafterForAllNumbers) {
  for (const int places : {1, 2, 37}) {
    at::Tensor x = at::randn({1000}, at::kDouble) * at::pow(10, at::randn({1000}) * 8);
    x.slice(0, 0, 8) = at::tensor({0.0, -0.0, 1e-320, -1e-320, 1e308, 1.0, -1.0, 2.0}, at::kDouble);
    x[8] = std::numeric_limits<double>::infinity();
    x[9] = std::numeric_limits<double>::quiet_NaN();
    x[10] = -std::numeric_limits<double>::infinity();
    x[11] = std::numeric_limits<double>::max();
    expect_as_by_nextafter<double>(x, places);
    at::Tensor y = x.to(at::kFloat);
    y[11] = -std::numeric_limits<float>::max();
    y[12] = std::numeric_limits<float>::denorm_min();
    expect_as_by_nextafter<float>(y, places);
  }
}

TEST(Nudged, DoesNotDependOnThreads) {
  const at::Tensor x = at::randn({300000});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = nudged(x, 1, 5, false);
  at::set_num_threads(2);
  EXPECT_TRUE(at::equal(nudged(x, 1, 5, false), one));
  EXPECT_FALSE(at::equal(nudged(x, 1, 6, false), one));
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace lazyrt
