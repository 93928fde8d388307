// What a file holds by the hundred thousand takes time in proportion: the square of it would take
// longer than CTest waits.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/hostile/shared_tables.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/processor_time.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

/// A method with one scalar constant and `count` times the same guard of it: 20 bytes for each.
test::AlignedBytes one_table_for_all_guards(size_t count) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<int64_t> shape;
  const std::vector<flatbuffers::Offset<fb::Value>> value = {fb::CreateValueDirect(
      b, "c", fb::ValueKind::Constant, fb::DType::Float32, &shape, nullptr, 0, 4)};
  const auto values = b.CreateVector(value);
  const auto guards =
      b.CreateVector(std::vector<flatbuffers::Offset<fb::Guard>>(count, fb::CreateGuard(b)));
  return test::file_of_shared_tables(b, values, guards, count * 16 + 1000);
}

TEST(Many, RefusalsOfEachGuardAreCountedAtOnce) {
  constexpr size_t kGuards = 600000;
  const test::AlignedBytes file = one_table_for_all_guards(kGuards);
  const Result<Program> program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  Session session = test::make(program->method(0));
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(session.stats().guard_refusals, 0u);
  for (size_t i = 0; i < kGuards; ++i) ASSERT_EQ(session.guard_refusals(i), 0u);
}

/// `count` inputs of one element, in the arena one after the other but the first two, and a state.
BundleParts many_inputs(size_t count) {
  BundleParts parts;
  MethodBuilder b(&parts);
  for (size_t i = 0; i < count; ++i) b.input("x" + std::to_string(i), DType::kFloat32, {1});
  auto& values = b.method().values;
  std::swap(values[0]->offset, values[1]->offset);
  auto kept = std::make_unique<fb::ValueT>(*values[0]);
  kept->kind = fb::ValueKind::State;
  kept->offset = 0;
  values.push_back(std::move(kept));
  auto state = std::make_unique<fb::StateT>();
  state->name = "kept";
  state->value = state->next = static_cast<int>(count);
  b.method().states.push_back(std::move(state));
  for (size_t i = 0; i < 3; ++i) b.output("y" + std::to_string(i), static_cast<int>(i));
  return parts;
}

TEST(Many, InputsAreBoundToTheSessionsMemoryAtOnce) {
  constexpr size_t kInputs = 240000;
  const test::Loaded loaded(many_inputs(kInputs));
  Session session = test::make(loaded.method());
  for (size_t i = 0; i < kInputs; ++i) {
    ASSERT_TRUE(session.bind_input(i, *session.state(0), sizeof(float)).ok());
  }
  EXPECT_TRUE(session.run().ok());
}

/// Bound inputs beside bound outputs: each of one is compared with the others.
double ms_to_bind_both(size_t count) {
  BundleParts parts = many_inputs(count);
  fb::MethodT& m = *parts.bundle.methods[0];
  m.outputs.clear();
  for (size_t i = 0; i < count; ++i) {
    m.outputs.push_back(std::make_unique<fb::BindingT>());
    m.outputs.back()->name = "y" + std::to_string(i);
    m.outputs.back()->value = static_cast<int>(i);
  }
  const test::Loaded loaded(parts);
  Session session = test::make(loaded.method());
  const test::AlignedBytes memory(128 * count);
  uint8_t* data = const_cast<uint8_t*>(memory.data());
  std::memset(data, 0, memory.size());
  return test::least_processor_ms(2, [&] {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(session.bind_output(i, data + 128 * i, 64).ok());
      const TensorView x = {data + 128 * i + 64, DType::kFloat32, {1}};
      ASSERT_TRUE(session.bind_input(i, x, 64).ok());
    }
    ASSERT_TRUE(session.run().ok());
  });
}

TEST(Many, OutputsBesideBoundInputsAreBoundFarFromQuadratic) {
  const double few = ms_to_bind_both(5'000), many = ms_to_bind_both(20'000);
  std::printf("%.0f ms to bind 5,000 inputs and outputs, %.0f ms for 20,000\n", few, many);
  EXPECT_LT(many, test::far_from_quadratic(few));
}

/// Each input becomes its neighbour's last content, wherever the plan puts them.
TEST(Many, InputsThatAreEachOthersMemoryAreReadBeforeTheyAreWritten) {
  const test::Loaded loaded(many_inputs(3));
  Session session = test::make(loaded.method());
  const float x[3] = {1, 2, 3};
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(session.set_input(i, &x[i], sizeof(float)).ok());
  ASSERT_TRUE(session.run().ok());
  const TensorView y[3] = {*session.output(0), *session.output(1), *session.output(2)};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.bind_input(i, y[(i + 1) % 3], sizeof(float)).ok());
  }
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(test::floats(session, 0), std::vector<float>{2});
  EXPECT_EQ(test::floats(session, 1), std::vector<float>{3});
  EXPECT_EQ(test::floats(session, 2), std::vector<float>{1});
}

/// `count` outputs y = relu(x), each of an input of its own.
BundleParts many_outputs(size_t count) {
  BundleParts parts;
  MethodBuilder b(&parts);
  for (size_t i = 0; i < count; ++i) {
    const int x = b.input("x" + std::to_string(i), DType::kFloat32, {1});
    b.output("y" + std::to_string(i), b.node(test::relu(), {x}, DType::kFloat32, {1}));
  }
  return parts;
}

/// Of a session: all inputs bound to its own outputs, or to the caller's memory; all outputs bound,
/// from the last to the first; a run.
double ms_to_bind_outputs(size_t count, bool reads_back) {
  constexpr size_t kPlace = 64;
  const test::Loaded loaded(many_outputs(count));
  Session session = test::make(loaded.method());
  const std::unique_ptr<float, void (*)(void*)> memory(
      static_cast<float*>(std::aligned_alloc(kPlace, 2 * count * kPlace)), &std::free);
  const auto place = [&](size_t i) { return memory.get() + i * kPlace / sizeof(float); };
  for (size_t i = 0; i < count; ++i) {
    *place(i) = 1;
    EXPECT_TRUE(session.bind_input(i, {place(i), DType::kFloat32, {1}}, kPlace).ok());
  }
  EXPECT_TRUE(session.run().ok());
  for (size_t i = 0; reads_back && i < count; ++i)
    EXPECT_TRUE(session.bind_input(i, *session.output(count - 1 - i), sizeof(float)).ok());
  const double ms = test::least_processor_ms(1, [&] {
    for (size_t i = count; i-- > 0;)
      EXPECT_TRUE(session.bind_output(i, place(count + i), kPlace).ok());
    EXPECT_TRUE(session.run().ok());
  });
  EXPECT_EQ(*place(count), 1);
  EXPECT_EQ(session.stats().output_copy_bytes, reads_back ? count * sizeof(float) : 0);
  return ms;
}

TEST(Many, OutputsAreBoundAtOnce) {
  for (const bool reads_back : {false, true}) {
    const double few = ms_to_bind_outputs(15000, reads_back);
    const double many = ms_to_bind_outputs(60000, reads_back);
    std::printf("%.0f ms to bind 15,000 outputs and run, %.0f ms for 60,000\n", few, many);
    EXPECT_LT(many, test::far_from_quadratic(few));
  }
}

}  // namespace
}  // namespace lazyrt
