#include "host_tracer/record/perturb.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lazyrt {
namespace {

TEST(Perturb, FloatsMoveLessAndLess) {
  const at::Tensor x = at::randn({100});
  double last = 1e9;
  for (int level = 1; level < 4; ++level) {
    const double moved = (perturbed(x, level, 1) - x).abs().max().item<double>();
    EXPECT_GT(moved, 0.0);
    EXPECT_LT(moved, last / 5);
    last = moved;
  }
  EXPECT_FALSE(at::allclose(perturbed(x, 0, 1), x, 0, 0.1));
  EXPECT_TRUE(at::equal(perturbed(x, 0, 1), perturbed(x, 0, 1)));
  EXPECT_FALSE(at::equal(perturbed(x, 0, 1), perturbed(x, 0, 2)));
}

TEST(Perturb, InfinityAndNanStay) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({inf, 1.0f, std::nanf(""), 2.0f, -inf});
  for (int level = 0; level < 3; ++level) {
    const at::Tensor y = perturbed(x, level, 3);
    EXPECT_TRUE(at::equal(at::isfinite(y), at::isfinite(x)));
    EXPECT_TRUE(at::equal(at::isnan(y), at::isnan(x)));
    EXPECT_NE(y[1].item<float>(), 1.0f);
  }
  EXPECT_GT(perturbed(at::zeros({4}), 2, 1).abs().max().item<double>(), 0.0);
}

TEST(Perturb, IntegersAndTruthValuesAreReordered) {
  const at::Tensor ids = at::arange(50);
  for (int level = 0; level < 3; ++level) {
    const at::Tensor other = perturbed(ids, level, 5);
    EXPECT_FALSE(at::equal(other, ids)) << level;
    EXPECT_TRUE(at::equal(std::get<0>(at::sort(other)), ids));
  }
  const at::Tensor mask = ids > 20;
  EXPECT_TRUE(at::equal(perturbed(mask, 0, 1).sum(), mask.sum()));
  EXPECT_EQ(perturbed(mask, 0, 1).scalar_type(), at::kBool);
}

TEST(Perturb, AnyDtypeAndShape) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble, at::kByte, at::kInt}) {
    const at::Tensor x = at::ones({2, 0, 3}).to(type), y = at::ones({2, 3}).to(type).t();
    EXPECT_EQ(perturbed(x, 0, 1).sizes(), x.sizes());
    EXPECT_EQ(perturbed(y, 0, 1).sizes(), y.sizes());
    EXPECT_EQ(perturbed(y, 0, 1).scalar_type(), type);
  }
}

}  // namespace
}  // namespace lazyrt
