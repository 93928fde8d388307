// Outputs in memory of the caller: written there, or copied where they cannot be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/support/branching_bundle.h"
#include "tests/support/float_memory.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::floats;
using test::Loaded;
using Memory = test::FloatMemory;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

class Outputs : public testing::Test {
 protected:
  Session tiny_session() {
    Session session = test::make(tiny_.method());
    EXPECT_TRUE(session.set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
    EXPECT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
    return session;
  }
  static uint64_t copied(const Session& session) { return session.stats().output_copy_bytes; }

  const Loaded tiny_{test::tiny_bundle()};
};

TEST_F(Outputs, ANodeWritesWhereItsResultIsBound) {
  Session session = tiny_session();
  const Memory first(6), second(6);
  for (const Memory* memory : {&first, &second}) {
    ASSERT_TRUE(session.bind_output(0, memory->data, memory->bytes).ok());
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(session.output(0)->data, memory->data);
    EXPECT_THAT(memory->values(6), ElementsAreArray(test::kTinyTotal));
    EXPECT_EQ(session.output(3)->data, memory->data) << "the same value";
    EXPECT_EQ(copied(session), 0u);
  }
  ASSERT_TRUE(session.bind_output(0, nullptr, 0).ok());
  EXPECT_EQ(session.output(0)->data, second.data) << "of the last run";
  ASSERT_TRUE(session.run().ok());
  EXPECT_NE(session.output(0)->data, second.data);
  EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
}

TEST_F(Outputs, WhatNoNodeMayWriteThereIsCopied) {
  Session session = tiny_session();
  const Memory total(6, 0), x(6), w(6), again(6, kTailBytes, 4);
  const Memory* all[] = {&total, &x, &w, &again};
  for (size_t i = 0; i < 4; ++i) {
    const Status status = session.bind_output(i, all[i]->data, all[i]->bytes);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(total.values(6), ElementsAreArray(test::kTinyTotal)) << "no tail";
    EXPECT_THAT(x.values(6), ElementsAreArray(test::kTinyX)) << "an input";
    EXPECT_THAT(w.values(6), ElementsAreArray(test::kTinyW)) << "a constant";
    EXPECT_THAT(again.values(6), ElementsAreArray(test::kTinyTotal)) << "not aligned";
    EXPECT_EQ(copied(session), 4 * 24u);
    for (size_t k = 0; k < 4; ++k) EXPECT_EQ(session.output(k)->data, all[k]->data);
  }
}

TEST_F(Outputs, OneValueInTwoPlaces) {
  Session session = tiny_session();
  const Memory total(6), again(6);
  ASSERT_TRUE(session.bind_output(3, again.data, again.bytes).ok());
  ASSERT_TRUE(session.bind_output(0, total.data, total.bytes).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(total.values(6), ElementsAreArray(test::kTinyTotal));
  EXPECT_THAT(again.values(6), ElementsAreArray(test::kTinyTotal));
  EXPECT_EQ(copied(session), 24u);
}

TEST_F(Outputs, SaysWhatIsWrong) {
  Session session = tiny_session();
  Memory mine(64);
  const auto why = [&](size_t i, void* data, size_t writable, const Backend* device = nullptr) {
    const Status status = session.bind_output(i, data, writable, device);
    EXPECT_EQ(status.error(), Error::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(why(4, mine.data, 24), HasSubstr("no output 4, the method has 4"));
  EXPECT_THAT(why(0, mine.data, 23),
              HasSubstr("output 'total' takes 24 bytes (f32[6]), 23 are writable"));
  EXPECT_THAT(why(0, mine.data, 24, reference_backend()),
              HasSubstr("output 'total': 'reference' is no device"));
  ASSERT_TRUE(session.bind_output(0, mine.data, 24).ok());
  EXPECT_THAT(why(1, mine.data + 5, 24),
              HasSubstr("output 'same_x': output 'total' is bound to that memory"));
  EXPECT_TRUE(session.bind_output(1, mine.data + 6, 24).ok());
  ASSERT_TRUE(session.bind_output(0, nullptr, 0).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(why(1, session.output(0)->data, 24), HasSubstr("memory of the session itself"));
  EXPECT_THAT(why(0, session.output(2)->data, 24), HasSubstr("memory of the session itself"))
      << "a constant";
  EXPECT_THAT(mine.values(6), Each(-7.0f)) << "after it was given back";
}

TEST_F(Outputs, InputsInThatMemoryAreReadFirst) {
  Session session = tiny_session();
  const Memory memory(6);
  std::copy(test::kTinyX, test::kTinyX + 6, memory.data);
  const TensorView view = {memory.data, DType::kFloat32, {2, 3}};
  ASSERT_TRUE(session.bind_input(0, view, memory.bytes).ok());
  ASSERT_TRUE(session.bind_output(0, memory.data, memory.bytes).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(memory.values(6), ElementsAreArray(test::kTinyTotal));
  EXPECT_THAT(floats(session, 1), ElementsAreArray(test::kTinyX))
      << "the input, not what it became";
  EXPECT_EQ(copied(session), 0u);
  // Without the output the input is read where it is again.
  ASSERT_TRUE(session.bind_output(0, nullptr, 0).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(session.output(1)->data, memory.data);
}

TEST_F(Outputs, AnInputThatReadsTheSessionsResultGoesOnToDoSo) {
  Session session = tiny_session();
  ASSERT_TRUE(session.run().ok());
  const TensorView last = {session.output(0)->data, DType::kFloat32, {2, 3}};
  Session expected = tiny_session();
  const Memory memory(6);
  ASSERT_TRUE(session.bind_input(0, last, 24).ok());
  ASSERT_TRUE(session.bind_output(0, memory.data, memory.bytes).ok());
  std::vector<float> x(test::kTinyTotal, test::kTinyTotal + 6);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.run().ok());
    ASSERT_TRUE(expected.set_input(0, x.data(), 24).ok());
    ASSERT_TRUE(expected.run().ok());
    x = floats(expected, 0);
    EXPECT_EQ(memory.values(6), x);
  }
}

TEST_F(Outputs, AFailedRunPromisesNothingAndTheNextOneIsRight) {
  Session session = tiny_session();
  const Memory memory(6);
  ASSERT_TRUE(session.bind_output(0, memory.data, memory.bytes).ok());
  const int64_t bad[] = {0, 2};
  ASSERT_TRUE(session.set_input(1, bad, sizeof(bad)).ok());
  EXPECT_EQ(session.run().error(), Error::kOutOfRange);
  EXPECT_FALSE(session.output(0).ok());
  ASSERT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(memory.values(6), ElementsAreArray(test::kTinyTotal));
}

TEST(OutputsOfVariants, TheOneThatRunsWritesThere) {
  const Loaded bundle(test::branching_bundle());
  Session session = test::make(bundle.method());
  Session alone = test::make(bundle.method());
  const Memory memory(4);
  ASSERT_TRUE(session.bind_output(0, memory.data, memory.bytes).ok());
  for (int round = 0; round < 2; ++round) {
    for (const float* x : {test::kBranchingUp, test::kBranchingDown}) {
      for (Session* s : {&session, &alone}) {
        ASSERT_TRUE(s->set_input(0, x, 16).ok());
        ASSERT_TRUE(s->run().ok());
      }
      EXPECT_EQ(memory.values(4), floats(alone, 0));
      EXPECT_EQ(*session.state(0)->as<float>(), *alone.state(0)->as<float>());
    }
  }
}

TEST(OutputsOfVariants, EachHasItsOwnSize) {
  const Loaded bundle(test::branching_bundle());
  Session session = test::make(bundle.method());
  const Memory memory(2);
  EXPECT_THAT(session.bind_output(0, memory.data, 7).message(),
              HasSubstr("output 'y' takes 8 bytes (f32[2,1]), 7 are writable"));
  ASSERT_TRUE(session.bind_output(0, memory.data, 8).ok());
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 8).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(memory.values(2), ElementsAre(2, -4));
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("output 'y' takes 16 bytes (f32[4,1]), 8 are writable"));
  EXPECT_EQ(*session.state(0)->as<float>(), 5);
}

/// Two inputs and outputs that are each other's memory: nothing is read after it was written.
TEST(OutputsThatSwap, AreCopiedFromWhatWasThere) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int y = b.input("y", DType::kFloat32, {4});
  b.node(test::relu(), {x}, DType::kFloat32, {4});
  b.output("first", y);
  b.output("second", x);
  const Loaded bundle(parts);
  Session session = test::make(bundle.method());
  const Memory one(4), two(4);
  for (int i = 0; i < 4; ++i) one.data[i] = 1, two.data[i] = 2;
  ASSERT_TRUE(session.bind_input(0, {one.data, DType::kFloat32, {4}}, one.bytes).ok());
  ASSERT_TRUE(session.bind_input(1, {two.data, DType::kFloat32, {4}}, two.bytes).ok());
  ASSERT_TRUE(session.bind_output(0, one.data, one.bytes).ok());
  ASSERT_TRUE(session.bind_output(1, two.data, two.bytes).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(one.values(4), Each(2.0f));
  EXPECT_THAT(two.values(4), Each(1.0f));
}

}  // namespace
}  // namespace lazyrt
