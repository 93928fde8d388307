// Random memory plans: the verifier must agree with a check that compares every pair.

#include <gtest/gtest.h>

#include <random>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt {
namespace {

constexpr int kInputs = 2;

/// A chain of adds over random earlier values, each at a random place.
struct RandomPlan {
  explicit RandomPlan(std::mt19937* random) {
    test::MethodBuilder b(&parts);
    nodes = 1 + static_cast<int>((*random)() % 8);
    for (int i = 0; i < kInputs; ++i) b.input("x" + std::to_string(i), DType::kFloat32, {4});
    for (int i = 0; i < nodes; ++i) {
      const int known = kInputs + i;
      const int a = static_cast<int>((*random)() % static_cast<unsigned>(known));
      const int c = static_cast<int>((*random)() % static_cast<unsigned>(known));
      b.node(test::add(), {a, c}, DType::kFloat32, {4});
    }
    b.output("y", kInputs + nodes - 1);
    b.method().arena_bytes = 64 * (3 + (*random)() % 12);
    const auto places = static_cast<unsigned>(b.method().arena_bytes / 64);
    for (auto& value : b.method().values) value->offset = 64 * ((*random)() % places);
  }

  const fb::MethodT& method() const { return *parts.bundle.methods[0]; }
  int made(int id) const { return id < kInputs ? -1 : id - kInputs; }
  int last_use(int id) const {
    if (id < kInputs || id == kInputs + nodes - 1) return nodes;
    int last = made(id);
    for (int n = 0; n < nodes; ++n) {
      for (int32_t input : method().nodes[static_cast<size_t>(n)]->inputs)
        last = input == id ? n : last;
    }
    return last;
  }
  /// All values have the same size and are 64 apart: they overlap if they are at the same place.
  bool valid() const {
    for (int a = 0; a < kInputs + nodes; ++a) {
      for (int c = 0; c < a; ++c) {
        const bool same = method().values[static_cast<size_t>(a)]->offset ==
                          method().values[static_cast<size_t>(c)]->offset;
        if (same && made(a) <= last_use(c) && made(c) <= last_use(a)) return false;
      }
    }
    return true;
  }

  test::BundleParts parts;
  int nodes = 0;
};

TEST(MemoryRules, AgreeWithComparingEveryPair) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int valid = 0;
  int invalid = 0;
  for (int i = 0; i < 5000; ++i) {
    const RandomPlan plan(&random);
    const test::AlignedBytes file = test::write_bundle(plan.parts);
    const Status status = Program::load(file.span(), test::tiny_ops()).status();
    ASSERT_EQ(status.ok(), plan.valid()) << status.message();
    ++(plan.valid() ? valid : invalid);
  }
  EXPECT_GT(valid, 50);
  EXPECT_GT(invalid, 50);
}

TEST(MemoryRules, TheTailBelongsToTheValue) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  b.input("x", DType::kFloat32, {16});  // 64 bytes: its tail reaches into the next 64
  b.input("y", DType::kFloat32, {12});  // 48 bytes: its tail just fits
  b.output("z", b.node(test::add(), {1, 1}, DType::kFloat32, {12}));
  auto& values = b.method().values;
  values[1]->offset = 128;
  values[2]->offset = 192;
  b.method().arena_bytes = 256;
  test::AlignedBytes file = test::write_bundle(parts);
  EXPECT_TRUE(Program::load(file.span(), test::tiny_ops()).ok());
  values[1]->offset = 64;
  file = test::write_bundle(parts);
  EXPECT_FALSE(Program::load(file.span(), test::tiny_ops()).ok());
}

TEST(MemoryRules, InPlaceChainsAndViewsShareOnePlace) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  b.input("x", DType::kFloat32, {2, 2});
  int v = b.node(test::relu(), {0}, DType::kFloat32, {2, 2});
  for (int i = 0; i < 5; ++i) {
    v = b.node(test::reshape({4}), {v}, DType::kFloat32, {4}, v);
    v = b.node(test::add(), {v, v}, DType::kFloat32, {4}, v);
    v = b.node(test::reshape({2, 2}), {v}, DType::kFloat32, {2, 2}, v);
  }
  b.output("y", v);
  test::AlignedBytes file = test::write_bundle(parts);
  EXPECT_TRUE(Program::load(file.span(), test::tiny_ops()).ok());
  // An output keeps the memory it was made in: nothing may write over it.
  b.output("early", 1);
  file = test::write_bundle(parts);
  EXPECT_FALSE(Program::load(file.span(), test::tiny_ops()).ok());
}

}  // namespace
}  // namespace lazyrt
