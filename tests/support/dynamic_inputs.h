#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "lazyrt/runtime.h"

namespace lazyrt::test {

/// Inputs of dynamic_bundle at some sizes.
struct DynamicInputs {
  std::vector<float> x, mask;
  std::vector<int64_t> ids;

  DynamicInputs(int64_t rows, int64_t n, uint32_t seed = 1) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < 3 * rows; ++i) x.push_back(static_cast<float>(random() % 100));
    for (int64_t i = 0; i < 3 * n; ++i) mask.push_back(static_cast<float>(random() % 9) - 50);
    for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int64_t>(random() % rows));
  }
  int64_t rows() const { return static_cast<int64_t>(x.size()) / 3; }
  int64_t n() const { return static_cast<int64_t>(ids.size()); }
  TensorView x_view() { return {x.data(), DType::kFloat32, {rows(), 3}}; }
  TensorView ids_view() { return {ids.data(), DType::kInt64, {n()}}; }
  TensorView mask_view() { return {mask.data(), DType::kFloat32, {n(), 3}}; }

  void set(Session* session) {
    EXPECT_TRUE(session->set_input(0, x_view()).ok());
    EXPECT_TRUE(session->set_input(1, ids_view()).ok());
    EXPECT_TRUE(session->set_input(2, mask_view()).ok());
  }
  /// `times`: what relu's result is multiplied by.
  std::vector<float> total(float times = 3) const {
    std::vector<float> out;
    for (size_t i = 0; i < mask.size(); ++i) {
      const float sum = x[static_cast<size_t>(ids[i / 3]) * 3 + i % 3] + mask[i];
      out.push_back(sum > 0 ? times * sum : 0);
    }
    return out;
  }
};

}  // namespace lazyrt::test
