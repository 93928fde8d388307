// Packed weights of one constant are never taken for each other.

#include <gtest/gtest.h>

#include "tests/hostile/agreement.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

/// w_ih [3H, width] and w_hh [3H, H] begin at one offset.
template <class Table>
BundleParts rnn_of_one_constant(int gates, int64_t hidden, int64_t width) {
  const int64_t rows = gates * hidden;
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2, 1, width});
  std::vector<int> operands = {x, b.input("h0", DType::kFloat32, {1, 1, hidden})};
  if (gates == 4) operands.push_back(b.input("c0", DType::kFloat32, {1, 1, hidden}));
  const int64_t longest = std::max(width, hidden);
  std::vector<float> w = test::random_floats(static_cast<size_t>(rows * longest), 3);
  for (float& v : w) v *= 0.05f;
  operands.push_back(b.constant("w_ih", DType::kFloat32, {rows, width}, w.data()));
  const int recurrent = b.constant("w_hh", DType::kFloat32, {rows, hidden}, w.data());
  operands.push_back(recurrent);
  auto& values = b.method().values;
  values[static_cast<size_t>(recurrent)]->offset =
      values[static_cast<size_t>(recurrent) - 1]->offset;
  Table rnn;
  rnn.has_bias = false;
  b.output("y", b.infer(default_ops(), rnn, operands));
  return parts;
}

// XNNPACK's seed of such a product is rows ^ width ^ nr ^ kr ^ sr ^ 43: 0 for one of these widths,
// as the key of a block of our own is.
TEST(Packing, ARecurrentLayerTellsItsTwoPackingsOfOneConstantApart) {
  for (const int64_t tile : {2, 4, 8, 16, 32, 64}) {
    SCOPED_TRACE(tile);
    test::expect_agreement(rnn_of_one_constant<fb::GruT>(3, 300, 900 ^ tile ^ 43));
    test::expect_agreement(rnn_of_one_constant<fb::LstmT>(4, 225, 900 ^ tile ^ 43));
  }
}

/// Many nodes that read one constant as weights of different shapes.
TEST(Packing, ShapesOfOneConstantAreTold) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const std::vector<float> w = test::random_floats(48 * 48, 3);
  uint64_t offset = 0;
  int sum = -1;
  for (int64_t k : {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}) {
    const int x = b.input("x" + std::to_string(k), DType::kFloat32, {1, k});
    const int id = b.constant("w" + std::to_string(k), DType::kFloat32, {48, k}, w.data());
    fb::ValueT& value = *b.method().values[static_cast<size_t>(id)];
    if (k == 1) offset = value.offset;
    value.offset = offset;
    const int y = b.infer(default_ops(), fb::LinearT(), {x, id});
    sum = sum < 0 ? y : b.infer(default_ops(), test::add(), {sum, y});
  }
  parts.constants.resize(48 * 48 * sizeof(float) + 64);
  b.output("y", sum);
  test::expect_agreement(parts);
}

/// One filter slid by every stride there is: packed once, as the layout does not depend on it.
TEST(Packing, StridesOfOneFilterShareAPacking) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {1, 5, 5, 3});
  const std::vector<float> w = test::random_floats(5 * 3 * 3 * 3, 3);
  const int filters = b.constant("w", DType::kFloat32, {5, 3, 3, 3}, w.data());
  constexpr int kStrides = 300;
  for (int i = 0; i < kStrides; ++i) {
    fb::Conv2dT conv;
    conv.stride_h = 3 + i, conv.stride_w = 3 + i / 2;
    const int y = b.infer(default_ops(), conv, {x, filters});
    if (i == kStrides - 1) b.output("y", y);
  }
  const test::Loaded loaded(parts, default_ops());
  SessionOptions options;
  options.backend = cpu_backend();
  const Session session = test::make(loaded.method(), options);
  EXPECT_GT(session.stats().packed_weight_bytes, 0u);
  EXPECT_LT(session.stats().packed_weight_bytes, 64 * w.size() * sizeof(float));
  test::expect_agreement(parts);
}

}  // namespace
}  // namespace lazyrt
