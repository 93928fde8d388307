#include "host_tracer/frontends/shared/gradient_mode.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace lazyrt {
namespace {

std::vector<NamedTensor> inputs() { return {{"x", at::arange(6).to(at::kFloat)}}; }

/// x, or x + 1 where gradients are recorded, or, as an operator of which oneDNN has another one,
/// where oneDNN may be asked and gradients are not recorded.
struct Program {
  bool by_gradients, by_onednn;

  c10::IValue operator()(const std::vector<at::Tensor>& given) const {
    const bool recorded = at::GradMode::is_enabled();
    const bool other = (by_gradients && recorded) ||
                       (by_onednn && !recorded && at::globalContext().userEnabledMkldnn());
    return other ? given[0] + 1 : given[0];
  }
};

TEST(GradientMode, WhatAProgramComputesOtherwiseIsFound) {
  EXPECT_TRUE(find_gradient_mode(inputs(), Program{true, false}));
  EXPECT_FALSE(find_gradient_mode(inputs(), Program{false, false}));
}

TEST(GradientMode, WhatOneDnnComputesOtherwiseIsNot) {
  EXPECT_FALSE(find_gradient_mode(inputs(), Program{false, true}));
  EXPECT_TRUE(at::globalContext().userEnabledMkldnn());
}

}  // namespace
}  // namespace lazyrt
