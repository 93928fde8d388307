// Sessions of a method with symbols: any allowed shapes, run after run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "tests/support/dynamic_bundle.h"
#include "tests/support/dynamic_inputs.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/meter.h"
#include "tests/support/processor_time.h"

namespace lazyrt {
namespace {

using test::floats;
using Inputs = test::DynamicInputs;
using test::Loaded;
using test::make;
using test::on_reference;
using testing::HasSubstr;

void expect_run(Session* session, Inputs inputs) {
  inputs.set(session);
  const Status status = session->run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(floats(*session, 0), inputs.total());
  EXPECT_EQ(session->output(0)->shape, Shape({3 * inputs.n()}));
  EXPECT_EQ(session->output(1)->shape, Shape({inputs.n(), 3}));
}

float count_of_runs(const Session& session) { return *session.state(0)->as<float>(); }

class Dynamic : public testing::Test {
 protected:
  const Loaded dynamic_{test::dynamic_bundle()};
};

TEST_F(Dynamic, TheMethodTellsItsSymbols) {
  const Method m = dynamic_.method();
  ASSERT_EQ(m.symbol_count(), 2u);
  EXPECT_STREQ(m.symbol(1).name, "n");
  EXPECT_EQ(m.symbol(1).min, 2);
  EXPECT_EQ(m.symbol(1).max, 512);
  EXPECT_EQ(m.symbol(1).multiple, 2);
  EXPECT_EQ(m.input_symbol(0, 0), 0);
  EXPECT_EQ(m.input_symbol(0, 1), -1);
  EXPECT_EQ(m.input_symbol(1, 0), 1);
  EXPECT_EQ(m.output_symbol(0, 0), -1);
  EXPECT_EQ(m.output_symbol(1, 0), 1);
  EXPECT_EQ(m.input(1).shape, Shape({6}));
  const Loaded fixed(test::static_bundle(4, 6));
  EXPECT_EQ(fixed.method().symbol_count(), 0u);
  EXPECT_EQ(fixed.method().input_symbol(0, 0), -1);
}

/// Inputs of follows_bundle: ids count down.
Status set_following(Session* session, int64_t n, int64_t count, const std::vector<float>& x,
                     std::vector<int64_t>* ids) {
  ids->clear();
  for (int64_t i = 0; i < count; ++i) ids->push_back((count - 1 - i) % n);
  const Status set = session->set_input(0, {const_cast<float*>(x.data()), DType::kFloat32, {n, 3}});
  return set.ok() ? session->set_input(1, {ids->data(), DType::kInt64, {count}}) : set;
}

TEST(DynamicExtents, FollowFromASymbol) {
  const Loaded loaded(test::follows_bundle());
  const Method m = loaded.method();
  EXPECT_EQ(m.input_symbol(1, 0), 0);
  EXPECT_EQ(m.input_extent(1, 0).factor, 2);
  EXPECT_EQ(m.input_extent(1, 0).offset, 1);
  EXPECT_EQ(m.input_extent(0, 0).factor, 1);
  EXPECT_EQ(m.input_extent(0, 1).symbol, -1);
  Session session = make(m);
  std::vector<float> x(303);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 20;
  std::vector<int64_t> ids;
  for (const int64_t n : {2, 1, 100, 7, 2}) {
    ASSERT_TRUE(set_following(&session, n, 2 * n + 1, x, &ids).ok());
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<float> y = floats(session, 0);
    ASSERT_EQ(y.size(), 3 * ids.size());
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], std::max(0.0f, x[static_cast<size_t>(ids[i / 3]) * 3 + i % 3]));
  }
}

TEST(DynamicExtents, WhatDoesNotFollowIsRefusedBySymbolValueAndRelation) {
  const Loaded loaded(test::follows_bundle());
  Session session = make(loaded.method());
  const std::vector<float> x(303);
  std::vector<int64_t> ids;
  const auto refusal = [&](int64_t n, int64_t count) {
    const Status set = set_following(&session, n, count, x, &ids);
    const Status status = set.ok() ? session.run() : set;
    EXPECT_EQ(status.error(), Error::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(3, 8), HasSubstr("input 'ids' dim 0: is 8, which is 2*n + 1 of no 'n'"));
  EXPECT_THAT(refusal(3, 9), HasSubstr("input 'ids' dim 0 is 9 = 2*n + 1, 'n' is 3 by input 'x'"));
  EXPECT_THAT(refusal(100, 203), HasSubstr("is 203 = 2*n + 1: 'n' is 101, allowed are 1 to 100"));
  EXPECT_THAT(refusal(1, 1), HasSubstr("is 1 = 2*n + 1: 'n' is 0, allowed are 1 to 100"));
  ASSERT_TRUE(set_following(&session, 3, 7, x, &ids).ok());
  EXPECT_TRUE(session.run().ok());
}

TEST_F(Dynamic, RunsAtEverySizeAsTheStaticBundleDoes) {
  Session session = make(dynamic_.method());
  for (int64_t rows : {4, 1, 8, 3}) {
    for (int64_t n : {6, 2, 512, 64, 6}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, n " << n);
      expect_run(&session, Inputs(rows, n));
      const Loaded fixed(test::static_bundle(rows, n));
      Session other = make(fixed.method());
      expect_run(&other, Inputs(rows, n));
      EXPECT_EQ(floats(session, 0), floats(other, 0));
      EXPECT_LE(session.stats().arena_bytes, other.stats().arena_bytes);
    }
  }
  EXPECT_EQ(count_of_runs(session), 20);
}

TEST_F(Dynamic, AnInputKeepsItsDataWhereItsShapeStays) {
  Session session = make(dynamic_.method());
  Inputs a(4, 6);
  expect_run(&session, a);
  Inputs b(4, 10, 2);
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  ASSERT_TRUE(session.run().ok());
  b.x = a.x;
  EXPECT_EQ(floats(session, 0), b.total());
}

TEST_F(Dynamic, DataIsCopiedWhenItIsSet) {
  Session session = make(dynamic_.method());
  Inputs a(5, 8);
  const std::vector<float> wanted = a.total();
  a.set(&session);
  std::fill(a.x.begin(), a.x.end(), -1.0f);
  std::fill(a.mask.begin(), a.mask.end(), -1.0f);
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), wanted);
}

TEST_F(Dynamic, BytesGiveTheOnlySymbolicDim) {
  Session session = make(dynamic_.method());
  Inputs a(3, 12);
  ASSERT_TRUE(session.set_input(0, a.x.data(), 36).ok());
  ASSERT_TRUE(session.set_input(1, a.ids.data(), 96).ok());
  ASSERT_TRUE(session.set_input(2, a.mask.data(), 144).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), a.total());
  EXPECT_THAT(session.set_input(0, a.x.data(), 37).message(),
              HasSubstr("input 'x' takes f32[rows,3], got 37 bytes"));
  EXPECT_THAT(session.set_input(0, a.x.data(), 9 * 12).message(),
              HasSubstr("input 'x' dim 0: 'rows' is 9, allowed are 1 to 8"));
}

TEST_F(Dynamic, SaysWhichDimIsWrong) {
  Session session = make(dynamic_.method());
  float data[3] = {};
  const auto refused = [&](size_t i, DType dtype, const Shape& shape) {
    const Status status = session.set_input(i, {data, dtype, shape});
    EXPECT_EQ(status.error(), Error::kInvalidArgument);
    const Status bound = session.bind_input(i, {data, dtype, shape}, 1 << 20);
    EXPECT_STREQ(bound.message(), status.message());
    return std::string(status.message());
  };
  EXPECT_THAT(refused(1, DType::kInt64, {514}),
              HasSubstr("input 'ids' dim 0: 'n' is 514, allowed are 2 to 512 in multiples of 2"));
  EXPECT_THAT(refused(1, DType::kInt64, {7}), HasSubstr("'n' is 7, allowed"));
  EXPECT_THAT(refused(1, DType::kInt64, {0}), HasSubstr("'n' is 0, allowed"));
  EXPECT_THAT(refused(1, DType::kInt64, {-2}), HasSubstr("'n' is -2, allowed"));
  EXPECT_THAT(refused(0, DType::kFloat32, {4, 4}),
              HasSubstr("input 'x' takes f32[rows,3], got [4,4]: dim 1 differs"));
  EXPECT_THAT(refused(0, DType::kFloat32, {4}), HasSubstr("takes f32[rows,3], got [4]"));
  EXPECT_THAT(refused(0, DType::kInt64, {4, 3}), HasSubstr("takes f32[rows,3], got i64[4,3]"));
  EXPECT_THAT(session.set_input(3, {data, DType::kFloat32, {1}}).message(),
              HasSubstr("there is no input 3, the method has 3"));
  EXPECT_THAT(session.set_input(0, {nullptr, DType::kFloat32, {2, 3}}).message(),
              HasSubstr("data is null"));
  EXPECT_THAT(session.bind_input(0, {data, DType::kFloat32, {2, 3}}, 23).message(),
              HasSubstr("23 are readable"));
}

TEST_F(Dynamic, InputsThatDisagreeAreRefusedAndNothingIsLost) {
  Session session = make(dynamic_.method());
  Inputs a(4, 6);
  expect_run(&session, a);
  Inputs b(4, 10);
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  EXPECT_STREQ(status.message(), "input 'mask' dim 0 is 10, 'n' is 6 by input 'ids'");
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  EXPECT_EQ(count_of_runs(session), 1);
  // Back to what it was: the other inputs are still set.
  ASSERT_TRUE(session.set_input(2, a.mask_view()).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), a.total());
  // Or on to the other size.
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  ASSERT_FALSE(session.run().ok());
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  ASSERT_TRUE(session.run().ok());
  b.x = a.x;
  EXPECT_EQ(floats(session, 0), b.total());
}

TEST_F(Dynamic, AnInputThatWasNeverSetIsNamed) {
  Session session = make(dynamic_.method());
  Inputs a(4, 10);
  ASSERT_TRUE(session.set_input(1, a.ids_view()).ok());
  EXPECT_THAT(session.run().message(), HasSubstr("input 'x' was never set"));
}

TEST_F(Dynamic, ABindThatFailsLeavesTheSessionAsItWas) {
  SessionOptions options = on_reference();
  options.memory_limit = 40 << 10;
  Session session = make(dynamic_.method(), options);
  Inputs a(4, 6), large(4, 512);
  expect_run(&session, a);
  const uint64_t before = session.stats().total_bytes;
  ASSERT_TRUE(session.set_input(1, large.ids_view()).ok());
  ASSERT_TRUE(session.set_input(2, large.mask_view()).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kOutOfMemory) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("SessionOptions::memory_limit"));
  EXPECT_EQ(count_of_runs(session), 1);
  a.set(&session);
  EXPECT_EQ(session.stats().total_bytes, before);
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), a.total());
}

TEST_F(Dynamic, ShapesCanBeBoundAheadOfARun) {
  Session session = make(dynamic_.method());
  Inputs a(4, 6), b(4, 10);
  expect_run(&session, a);
  const Shape shapes[] = {{4, 3}, {10}, {10, 3}};
  ASSERT_TRUE(session.bind_shapes(shapes).ok());
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  EXPECT_THAT(session.run().message(), HasSubstr("input 'ids' was never set"));
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  ASSERT_TRUE(session.run().ok());
  b.x = a.x;
  EXPECT_EQ(floats(session, 0), b.total());
  const Shape apart[] = {{4, 3}, {10}, {12, 3}};
  EXPECT_THAT(session.bind_shapes(apart).message(), HasSubstr("'n' is 10 by input 'ids'"));
  const Shape outside[] = {{9, 3}, {10}, {10, 3}};
  EXPECT_THAT(session.bind_shapes(outside).message(), HasSubstr("'rows' is 9"));
  EXPECT_THAT(session.bind_shapes({}).message(), HasSubstr("0 shapes, the method has 3 inputs"));
  EXPECT_EQ(floats(session, 0), b.total());  // none of these changed anything
}

TEST_F(Dynamic, WhatWaitsForOtherShapesGoesOnWaiting) {
  Session session = make(dynamic_.method());
  Inputs a(2, 8), b(2, 20);
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  const Shape shapes[] = {{2, 3}, {8}, {8, 3}};
  ASSERT_TRUE(session.bind_shapes(shapes).ok());
  ASSERT_TRUE(session.set_input(0, a.x_view()).ok());
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  ASSERT_TRUE(session.run().ok());
  b.x = a.x;
  EXPECT_EQ(floats(session, 0), b.total());
}

TEST_F(Dynamic, AStaticSessionChecksShapesOnly) {
  const Loaded fixed(test::static_bundle(4, 6));
  Session session = make(fixed.method());
  const Shape right[] = {{4, 3}, {6}, {6, 3}}, wrong[] = {{4, 3}, {8}, {6, 3}};
  EXPECT_TRUE(session.bind_shapes(right).ok());
  EXPECT_THAT(session.bind_shapes(wrong).message(), HasSubstr("input 'ids' takes i64[6]"));
}

TEST_F(Dynamic, BoundInputsStayBorrowed) {
  Session session = make(dynamic_.method());
  Inputs a(4, 6);
  expect_run(&session, a);
  Inputs b(8, 10);
  alignas(64) float x[48] = {};
  std::copy(b.x.begin(), b.x.end(), x);
  ASSERT_TRUE(session.bind_input(0, {x, DType::kFloat32, {8, 3}}, sizeof(x)).ok());
  ASSERT_TRUE(session.bind_input(2, b.mask_view(), 120).ok());  // without a tail
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), b.total());
  for (float& v : b.x) v += 1;
  std::copy(b.x.begin(), b.x.end(), x);
  for (float& v : b.mask) v -= 2;
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), b.total());
  // Another size of ids and mask: x is still the caller's.
  Inputs c(8, 20);
  ASSERT_TRUE(session.set_input(1, c.ids_view()).ok());
  ASSERT_TRUE(session.set_input(2, c.mask_view()).ok());
  c.x = b.x;
  c.x[4] = x[4] = 1000;
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), c.total());
}

TEST_F(Dynamic, AnInputBoundToAnOutputMustBeSetInstead) {
  Session session = make(dynamic_.method());
  Inputs a(4, 6), b(4, 10);
  expect_run(&session, a);
  ASSERT_TRUE(session.bind_input(2, *session.output(1), 0 + 72).ok());
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(session.set_input(1, b.ids_view()).ok());
  const Shape shapes[] = {{4, 3}, {10}, {10, 3}};
  Status status = session.bind_shapes(shapes);
  EXPECT_EQ(status.error(), Error::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("input 'mask' is bound to memory of this session"));
  ASSERT_TRUE(session.set_input(2, b.mask_view()).ok());
  EXPECT_THAT(session.run().message(), HasSubstr("input 'mask' is bound"));
  // A part of an output as an input of another size: it can only be set.
  a.set(&session);
  ASSERT_TRUE(session.run().ok());
  const TensorView part = {session.output(0)->data, DType::kFloat32, {2, 3}};
  status = session.bind_input(0, part, 24);
  EXPECT_EQ(status.error(), Error::kFailedPrecondition);
  a.x.assign(part.as<float>(), part.as<float>() + 6);
  for (int64_t& id : a.ids) id %= 2;
  ASSERT_TRUE(session.set_input(0, part).ok());
  ASSERT_TRUE(session.set_input(1, a.ids_view()).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(floats(session, 0), a.total());
}

TEST_F(Dynamic, StatesAreKept) {
  Session session = make(dynamic_.method());
  const float* place = session.state(0)->as<float>();
  for (int64_t n : {6, 8, 8, 2}) expect_run(&session, Inputs(4, n));
  EXPECT_EQ(count_of_runs(session), 4);
  EXPECT_EQ(session.state(0)->as<float>(), place);
  ASSERT_TRUE(session.reset_state().ok());
  expect_run(&session, Inputs(4, 6));
  EXPECT_EQ(count_of_runs(session), 1);
}

TEST_F(Dynamic, MemoryReturnsToWhatItWas) {
  test::Meter meter;
  SessionOptions options = on_reference();
  options.allocator = meter.hooks();
  {
    Session session = make(dynamic_.method(), options);
    expect_run(&session, Inputs(4, 6));
    const uint64_t total = session.stats().total_bytes, live = meter.live();
    expect_run(&session, Inputs(4, 512));
    EXPECT_GT(session.stats().total_bytes, total);
    expect_run(&session, Inputs(4, 6));
    EXPECT_EQ(session.stats().total_bytes, total);
    EXPECT_EQ(meter.live(), live);
    Inputs(4, 100).set(&session);  // waits, and goes with the session
  }
  EXPECT_EQ(meter.live(), 0u);
}

/// Fails the n-th allocation, once.
struct FailOnce {
  int left = -1;
  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) -> void* {
              if (static_cast<FailOnce*>(self)->left-- == 0) return nullptr;
              return std::aligned_alloc(std::max<size_t>(alignment, 16),
                                        align_up(bytes + 1, std::max<size_t>(alignment, 16)));
            },
            [](void*, void* p) { std::free(p); }};
  }
};

TEST_F(Dynamic, EveryAllocationMayFailAndNothingIsLost) {
  FailOnce memory;
  SessionOptions options = on_reference();
  options.allocator = memory.hooks();
  Session session = make(dynamic_.method(), options);
  expect_run(&session, Inputs(4, 6));
  float runs = 1;
  bool failed = true;
  for (int n = 0; failed; ++n) {
    Inputs large(7, 40);
    large.set(&session);
    memory.left = n;
    const Status status = session.run();
    memory.left = -1;
    failed = !status.ok();
    if (failed) {
      EXPECT_EQ(status.error(), Error::kOutOfMemory) << status.message();
    }
    runs += failed ? 1 : 2;
    if (!failed) {
      EXPECT_EQ(floats(session, 0), large.total());
      EXPECT_GT(n, 10);
    }
    expect_run(&session, Inputs(4, 6));
  }
  EXPECT_EQ(count_of_runs(session), runs);
}

TEST_F(Dynamic, CountsGoOnWhenShapesChange) {
  SessionOptions options = on_reference();
  options.profile = true;
  Session session = make(dynamic_.method(), options);
  for (int64_t n : {6, 8, 10, 10}) expect_run(&session, Inputs(4, n));
  EXPECT_EQ(session.node(0)->runs, 4u);
  EXPECT_EQ(session.node_count(), 7u);
}

double ms_to_bind_session(int nodes) {
  const Loaded chain(test::relu_chain(nodes));
  Session session = make(chain.method());
  int64_t extent = 200;
  return test::least_processor_ms(5, [&] {
    const Shape shape({extent++});
    const Status status = session.bind_shapes({&shape, 1});
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST(DynamicChain, ManyNodesAreBoundInNoTime) {
  const double few = ms_to_bind_session(2'500), many = ms_to_bind_session(10'000);
  std::printf("%.2f ms to bind a session of 10,000 nodes\n", many);
  EXPECT_LT(many, test::far_from_quadratic(few));
}

TEST_F(Dynamic, OthersMayLookWhileShapesChange) {
  SessionOptions options = on_reference();
  options.profile = true;
  Session session = make(dynamic_.method(), options);
  expect_run(&session, Inputs(4, 6));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looks{0};
  std::thread other([&] {
    for (; !stop; ++looks) {
      EXPECT_GT(session.stats().total_bytes, 0u);
      for (size_t i = 0; i < session.node_count(); ++i) {
        const Result<NodeInfo> node = session.node(i);
        EXPECT_TRUE(node.ok() ? node->op[0] != '\0' : node.status().error() == Error::kBusy);
      }
      EXPECT_EQ(session.guard_refusals(0), 0u);
    }
  });
  for (int i = 0; i < 200 || looks == 0; ++i)
    expect_run(&session, Inputs(1 + i % 8, 2 + i % 3 * 2));
  stop = true;
  other.join();
}

}  // namespace
}  // namespace lazyrt
