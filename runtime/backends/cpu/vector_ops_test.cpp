// Every instruction set that this processor has against plain scalar code, at lengths around a
// vector.

#include "runtime/backends/cpu/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lazyrt {
namespace {

constexpr float kGuard = 12345.0f;
const size_t kLengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 259};

/// A row with guards on both sides, so that a write outside shows.
struct Row {
  explicit Row(size_t n) : all(n + 2 * kPad, kGuard) {}
  Row(size_t n, uint32_t seed, float deviation) : Row(n) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, deviation);
    for (size_t i = 0; i < n; ++i) data()[i] = normal(random);
  }
  static constexpr size_t kPad = 19;
  float* data() { return all.data() + kPad; }
  float& operator[](size_t i) { return data()[i]; }
  bool guards_intact(size_t n) {
    for (size_t i = 0; i < kPad; ++i) {
      if (all[i] != kGuard || all[kPad + n + i] != kGuard) return false;
    }
    return true;
  }
  std::vector<float> all;
};

bool near(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  return expected == actual ||
         std::fabs(expected - actual) <= tolerance * std::fmax(1, std::fabs(expected));
}

class EveryIsa : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    const VectorOps* all[kMaxVectorOps];
    if (GetParam() >= all_vector_ops(all)) GTEST_SKIP() << "not on this processor";
    ops_ = all[GetParam()];
    SCOPED_TRACE(ops_->isa);
  }
  const VectorOps* ops_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Isa, EveryIsa, testing::Range(size_t{0}, kMaxVectorOps));

TEST_P(EveryIsa, ExtremesKeepNaN) {
  for (size_t n : kLengths) {
    for (size_t at = 0; at < n; ++at) {
      Row x(n, 2, 1);
      x[at] = 50;
      ASSERT_EQ(ops_->max(x.data(), n), 50) << ops_->isa;
      x[at] = -50;
      ASSERT_EQ(ops_->min(x.data(), n), -50) << ops_->isa;
      x[at] = NAN;
      ASSERT_TRUE(std::isnan(ops_->max(x.data(), n))) << ops_->isa << " " << n << " at " << at;
      ASSERT_TRUE(std::isnan(ops_->min(x.data(), n))) << ops_->isa << " " << n << " at " << at;
    }
  }
}

TEST_P(EveryIsa, SoftmaxSumsToOne) {
  for (size_t n : kLengths) {
    if (n == 0) continue;
    Row x(n, 5, 4), y(n);
    ops_->softmax(x.data(), y.data(), n, false, false);
    double sum = 0, exact = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(y[i]);
    for (size_t i = 0; i < n; ++i) exact += std::exp(static_cast<double>(x[i] - x[0]));
    EXPECT_NEAR(sum, 1, 1e-5) << ops_->isa;
    EXPECT_NEAR(static_cast<double>(y[0]), 1 / exact, 1e-5) << ops_->isa;
    EXPECT_TRUE(y.guards_intact(n));
    for (size_t i = 0; i < n; ++i) x[i] = -HUGE_VALF;
    ops_->softmax(x.data(), y.data(), n, false, true);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 0) << ops_->isa;
    ops_->softmax(x.data(), y.data(), n, false, false);
    ASSERT_TRUE(std::isnan(y[0])) << ops_->isa;
  }
}

TEST_P(EveryIsa, LayerNorm) {
  for (size_t n : kLengths) {
    if (n == 0) continue;
    Row x(n, 6, 2), w(n, 7, 1), b(n, 8, 1), y(n);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; ++i) mean += static_cast<double>(x[i]) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i)
      variance += std::pow(static_cast<double>(x[i]) - mean, 2) / static_cast<double>(n);
    ops_->layer_norm(x.data(), w.data(), b.data(), y.data(), n, 1e-5f);
    for (size_t i = 0; i < n; ++i) {
      const double normal = (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5);
      ASSERT_TRUE(near(normal * static_cast<double>(w[i]) + static_cast<double>(b[i]),
                       static_cast<double>(y[i]), 1e-4))
          << ops_->isa << " n " << n;
    }
    EXPECT_TRUE(y.guards_intact(n));
  }
}

TEST_P(EveryIsa, GemvOverPanels) {
  for (size_t k : {size_t{1}, size_t{2}, size_t{5}, size_t{64}}) {
    constexpr size_t kPanels = 3;
    const size_t outputs = kPanels * kGemvPanel;
    Row packed(outputs * k, 9, 1), x(k, 10, 1), init(outputs, 11, 1), y(outputs);
    ops_->gemv(packed.data(), x.data(), init.data(), y.data(), k, 0, kPanels);
    for (size_t j = 0; j < outputs; ++j) {
      double sum = static_cast<double>(init[j]);
      for (size_t i = 0; i < k; ++i) {
        const float w = packed[(j / kGemvPanel * k + i) * kGemvPanel + j % kGemvPanel];
        sum += static_cast<double>(w) * static_cast<double>(x[i]);
      }
      ASSERT_TRUE(near(sum, static_cast<double>(y[j]), 1e-5))
          << ops_->isa << " k " << k << " j " << j;
    }
    EXPECT_TRUE(y.guards_intact(outputs));
  }
}

TEST_P(EveryIsa, GemmOverOnePanel) {
  std::mt19937 random(12);
  for (int i = 0; i < 2000; ++i) {
    const auto below = [&](size_t n) { return random() % n; };
    GemmTile t;
    t.k = below(4) == 0 ? below(200) : below(9);
    t.rows = below(28), t.columns = 1 + below(kGemmPanel);
    t.lda = t.k + below(3), t.ldc = t.columns + below(3);
    t.clamped = below(2) == 0, t.low = -1, t.high = 2;
    Row a(t.rows * t.lda, random(), 1), panel(t.k * kGemmPanel, random(), 1);
    Row bias(kGemmPanel, random(), 1), c(t.rows * t.ldc);
    t.a = a.data(), t.panel = panel.data(), t.c = c.data();
    t.bias = below(3) == 0 ? nullptr : bias.data();
    ops_->gemm(t);
    for (size_t at = 0; at < t.rows * t.ldc; ++at) {
      const size_t r = at / t.ldc, j = at % t.ldc;
      double sum = t.bias == nullptr || j >= t.columns ? 0 : static_cast<double>(bias[j]);
      for (size_t m = 0; j < t.columns && m < t.k; ++m)
        sum +=
            static_cast<double>(a[r * t.lda + m]) * static_cast<double>(panel[m * kGemmPanel + j]);
      if (t.clamped) sum = std::fmin(2, std::fmax(-1, sum));
      const double expected = j < t.columns ? sum : double{kGuard};
      ASSERT_TRUE(near(expected, static_cast<double>(c[at]), 3e-5))
          << ops_->isa << " k " << t.k << " row " << r << " of " << t.rows << " column " << j
          << " of " << t.columns;
    }
    ASSERT_TRUE(c.guards_intact(t.rows * t.ldc));
  }
}

TEST_P(EveryIsa, GemmKeepsNaN) {
  Row panel(kGemmPanel, 1, 1), c(kGemmPanel);
  const float a = std::nanf("");
  GemmTile t;
  t.a = &a, t.lda = t.rows = t.k = 1, t.panel = panel.data(), t.c = c.data(), t.ldc = kGemmPanel;
  t.clamped = true, t.low = 0, t.high = 6;
  ops_->gemm(t);
  for (size_t j = 0; j < kGemmPanel; ++j) ASSERT_TRUE(std::isnan(c[j])) << ops_->isa;
}

/// Rows of `n` floats, `stride` apart, as the transforms read and write them.
struct Points {
  explicit Points(size_t n) : stride(n + 5), row(kWinogradPoints * (n + 5)) {}
  float& at(size_t point, size_t i) { return row[point * stride + i]; }
  size_t stride;
  Row row;
};

/// One tile of one channel is convolved with one filter: all three transforms and a product.
TEST_P(EveryIsa, WinogradIsConvolution) {
  for (size_t n : kLengths) {
    Row g(9 * kGemmPanel, 14, 1), x(36 * n, 15, 1), bias(n, 16, 1), y(16 * n);
    Points u(kGemmPanel), v(n), m((n + kGemmPanel - 1) / kGemmPanel * kGemmPanel);
    const float* pixels[36];
    float* outputs[16];
    for (size_t i = 0; i < 36; ++i) pixels[i] = x.data() + i * n;
    for (size_t i = 0; i < 16; ++i) outputs[i] = i == 6 ? nullptr : y.data() + i * n;
    ops_->winograd_filters(g.data(), u.row.data(), u.stride);
    ops_->winograd_input(pixels, v.row.data(), v.stride, n);
    for (size_t p = 0; p < kWinogradPoints; ++p) {
      for (size_t i = 0; i < n; ++i) m.at(p, i) = v.at(p, i) * u.at(p, i % kGemmPanel);
    }
    ops_->winograd_output(m.row.data(), m.stride, bias.data(), -3, 2, outputs, n);
    for (size_t i = 0; i < 16 * n; ++i) {
      const size_t pixel = i / n, channel = i % n;
      double sum = static_cast<double>(bias[channel]);
      for (size_t tap = 0; tap < 9; ++tap) {
        const size_t from = (pixel / 4 + tap / 3) * 6 + pixel % 4 + tap % 3;
        sum += static_cast<double>(x[from * n + channel]) *
               static_cast<double>(g[tap * kGemmPanel + channel % kGemmPanel]);
      }
      const double expected = pixel == 6 ? double{kGuard} : std::fmin(2, std::fmax(-3, sum));
      ASSERT_TRUE(near(expected, static_cast<double>(y[i]), 2e-5))
          << ops_->isa << " n " << n << " output " << pixel << " channel " << channel;
    }
    EXPECT_TRUE(y.guards_intact(16 * n));
    EXPECT_TRUE(v.row.guards_intact(v.stride * kWinogradPoints));
    EXPECT_TRUE(u.row.guards_intact(u.stride * kWinogradPoints));
  }
}

TEST_P(EveryIsa, SelectTakesAnyNonZeroByte) {
  for (size_t n : kLengths) {
    Row a(n, 12, 1), b(n, 13, 1), y(n);
    std::vector<uint8_t> condition(n);
    for (size_t i = 0; i < n; ++i) condition[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 0x80;
    for (size_t steps = 0; n > 0 && steps < 4; ++steps) {
      const size_t step_a = steps & 1, step_b = steps >> 1;
      ops_->select(condition.data(), a.data(), step_a, b.data(), step_b, y.data(), n);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(y[i], condition[i] != 0 ? a[i * step_a] : b[i * step_b]) << ops_->isa << " " << i;
      }
      EXPECT_TRUE(y.guards_intact(n));
    }
  }
}

TEST_P(EveryIsa, RowsAreCombined) {
  for (size_t n : kLengths) {
    Row a(n, 14, 1), b(n, 15, 1), c(n, 16, 1), y(n);
    const float* rows[] = {a.data(), b.data(), c.data()};
    ops_->sum_rows(rows, 3, 0.5f, y.data(), n);
    for (size_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[i], 0.5f * (a[i] + b[i] + c[i]), 1e-6f) << ops_->isa;
    ops_->max_rows(rows, 3, y.data(), n);
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], std::fmax(a[i], std::fmax(b[i], c[i]))) << ops_->isa;
    EXPECT_TRUE(y.guards_intact(n));
  }
}

}  // namespace
}  // namespace lazyrt
