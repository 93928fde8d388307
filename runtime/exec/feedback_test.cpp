// Inputs bound to the session's own memory: each run begins with what the last one left there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::floats;
using test::Loaded;
using test::make;
using test::MethodBuilder;
using testing::ElementsAre;

constexpr DType kType = DType::kFloat32;

/// Binds input i to `view`, all of the memory behind it readable.
Status bind(Session* session, size_t i, const TensorView& view) {
  return session->bind_input(i, view, view.bytes() + kTailBytes);
}

int add_state(MethodBuilder* b, const std::string& name, int initial) {
  auto value = std::make_unique<fb::ValueT>(*b->method().values[static_cast<size_t>(initial)]);
  value->kind = fb::ValueKind::State;
  value->offset = 0;
  const int id = static_cast<int>(b->method().values.size());
  b->method().values.push_back(std::move(value));
  auto state = std::make_unique<fb::StateT>();
  state->name = name;
  state->value = id;
  state->initial = initial;
  b->method().states.push_back(std::move(state));
  return id;
}

/// y = x + w is written while x is still to be read: z = y + x.
TEST(Feedback, AnOutputIsReadBeforeTheRunOverwritesIt) {
  test::BundleParts parts;
  MethodBuilder b(&parts);
  const float ones[4] = {1, 1, 1, 1};
  const int x = b.input("x", kType, {4});
  const int w = b.constant("w", kType, {4}, ones);
  const int y = b.node(test::add(), {x, w}, kType, {4});
  b.output("y", y);
  b.output("z", b.node(test::add(), {y, x}, kType, {4}));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  const float first[4] = {0, 10, 20, 30};
  ASSERT_TRUE(session.set_input(0, first, sizeof(first)).ok());
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(bind(&session, 0, *session.output(0)).ok());
  for (float run = 1; run < 4; ++run) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 0), ElementsAre(run + 1, run + 11, run + 21, run + 31));
    EXPECT_THAT(floats(session, 1),
                ElementsAre(2 * run + 1, 2 * run + 21, 2 * run + 41, 2 * run + 61));
  }
  ASSERT_TRUE(session.set_input(0, first, sizeof(first)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAre(1, 11, 21, 31)) << "set again, it is not copied";
}

/// Of the output only its first half is bound, at an aligned address.
TEST(Feedback, APartOfAnOutputIsCopiedToo) {
  test::BundleParts parts;
  MethodBuilder b(&parts);
  const int a = b.input("a", kType, {4});
  const int x = b.input("x", kType, {2});
  const int y = b.node(test::add(), {a, a}, kType, {4});
  b.output("y", y);
  b.output("z", b.node(test::relu(), {x}, kType, {2}));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  float data[4] = {1, 2, 3, 4};
  ASSERT_TRUE(session.set_input(0, data, sizeof(data)).ok());
  ASSERT_TRUE(session.set_input(1, data, 8).ok());
  ASSERT_TRUE(session.run().ok());
  for (size_t from : {size_t{0}, size_t{2}}) {
    TensorView part = *session.output(0);
    part.data = part.as<float>() + from;
    part.shape = {2};
    ASSERT_TRUE(bind(&session, 1, part).ok());
    const std::vector<float> last = floats(session, 0);
    data[0] += 100, data[2] += 100;
    ASSERT_TRUE(session.set_input(0, data, sizeof(data)).ok());
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 1), ElementsAre(last[from], last[from + 1])) << "the last run's";
  }
}

/// s becomes s + s, t what x was; x is bound to s.
TEST(Feedback, AStateIsWhatItWasBeforeTheRun) {
  test::BundleParts parts;
  MethodBuilder b(&parts);
  const float one[1] = {1};
  const int x = b.input("x", kType, {1});
  const int first = b.constant("first", kType, {1}, one);
  const int s = add_state(&b, "s", first);
  add_state(&b, "t", first);
  b.method().states[0]->next = b.node(test::add(), {s, s}, kType, {1});
  const int view = b.node(test::reshape({1}), {x}, kType, {1}, x);
  b.method().states[1]->next = view;
  b.output("y", view);
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  ASSERT_TRUE(bind(&session, 0, *session.state(0)).ok());
  for (float run = 1; run < 16; run *= 2) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(*session.state(0)->as<float>(), 2 * run);
    EXPECT_EQ(*session.state(1)->as<float>(), run);
    EXPECT_THAT(floats(session, 0), ElementsAre(run));
  }
}

/// Outputs that are views of inputs, crosswise bound: a swap needs both before either is written.
TEST(Feedback, AllAreReadBeforeAnyIsWritten) {
  test::BundleParts parts;
  MethodBuilder b(&parts);
  const int x0 = b.input("x0", kType, {2});
  const int x1 = b.input("x1", kType, {2});
  b.output("y0", b.node(test::reshape({2}), {x1}, kType, {2}, x1));
  b.output("y1", b.node(test::reshape({2}), {x0}, kType, {2}, x0));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  const float a[2] = {1, 2}, c[2] = {3, 4};
  ASSERT_TRUE(session.set_input(0, a, sizeof(a)).ok());
  ASSERT_TRUE(session.set_input(1, c, sizeof(c)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAre(3, 4));
  ASSERT_TRUE(bind(&session, 0, *session.output(0)).ok());
  ASSERT_TRUE(bind(&session, 1, *session.output(1)).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 0), ElementsAre(1, 2));
    EXPECT_THAT(floats(session, 1), ElementsAre(3, 4));
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 0), ElementsAre(3, 4));
    EXPECT_THAT(floats(session, 1), ElementsAre(1, 2));
  }
}

TEST(Feedback, AnInputMayBeSetToAViewOfItself) {
  test::BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", kType, {2});
  b.output("y", b.node(test::reshape({2}), {x}, kType, {2}, x));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  const float a[2] = {1, 2};
  ASSERT_TRUE(session.set_input(0, a, sizeof(a)).ok());
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(session.set_input(0, *session.output(0)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAre(1, 2));
}

}  // namespace
}  // namespace lazyrt
