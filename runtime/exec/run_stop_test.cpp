// Runs that end early, and what other threads may ask for while one runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "tests/support/branching_bundle.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::Loaded;
using test::make;
using testing::HasSubstr;

/// tiny_ops with an operator "test.pause" of one operand that calls back while it runs.
class PausingOps {
 public:
  explicit PausingOps(void (*pause)()) {
    pause_ = pause;
    def_.infer = [](const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
      out[0] = {in[0].dtype, in[0].shape};
      return Fault();
    };
    def_.reference.run = [](void*, const RunContext& c) {
      pause_();
      std::memcpy(c.outputs[0].data, c.inputs[0].data, c.outputs[0].bytes());
      return Fault();
    };
    entry_ = {"test.pause", 1, {fb::OpAttrs::CustomOp, "pause", &def_, {&def_.reference}}};
    table_ = test::tiny_ops();
    table_.custom = {&entry_, 1};
  }
  const OpTable& table() const { return table_; }

 private:
  static inline void (*pause_)() = nullptr;
  OpDef def_;
  CustomOpEntry entry_;
  OpTable table_;
};

/// y = relu(pause(x)) of f32[1]; the state "count" becomes itself + 1.
test::BundleParts pausing_bundle() {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  fb::CustomOpT pause;
  pause.name = "test.pause";
  pause.version = 1;
  const int x = b.input("x", DType::kFloat32, {1});
  const float one = 1;
  const int step = b.constant("one", DType::kFloat32, {1}, &one);
  auto count = std::make_unique<fb::ValueT>();
  count->kind = fb::ValueKind::State;
  count->dtype = fb::DType::Float32;
  count->shape = {1};
  count->bytes = sizeof(float);
  b.method().values.push_back(std::move(count));
  auto state = std::make_unique<fb::StateT>();
  state->name = "count";
  state->value = static_cast<int>(b.method().values.size()) - 1;
  state->next = b.node(test::add(), {state->value, step}, DType::kFloat32, {1});
  b.method().states.push_back(std::move(state));
  const int paused = b.node(pause, {x}, DType::kFloat32, {1});
  b.output("y", b.node(test::relu(), {paused}, DType::kFloat32, {1}));
  return parts;
}

float count_in(const Session& session) { return *session.state(0)->as<float>(); }

std::atomic<bool> inside{false};
std::atomic<bool> may_go{false};
void wait_at_gate() {
  inside = true;
  while (!may_go) std::this_thread::yield();
}

TEST(RunStop, CancelEndsTheRunAtItsNextNode) {
  const PausingOps ops(wait_at_gate);
  const Loaded bundle(pausing_bundle(), ops.table());
  Session session = make(bundle.method());
  const float x = 3;
  ASSERT_TRUE(session.set_input(0, &x, sizeof(x)).ok());
  session.cancel();  // nothing runs: it means nothing
  Status ended;
  inside = may_go = false;
  std::thread runner([&] { ended = session.run(); });
  while (!inside) std::this_thread::yield();
  session.cancel();
  may_go = true;
  runner.join();
  EXPECT_EQ(ended.error(), Error::kCancelled);
  EXPECT_STREQ(ended.message(), "method 'forward', node 2 (unary): cancelled");
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  EXPECT_EQ(count_in(session), 0) << "a run that was cancelled changes no state";
  ASSERT_TRUE(session.run().ok()) << "the session goes on";
  EXPECT_EQ(*session.output(0)->as<float>(), 3);
  EXPECT_EQ(count_in(session), 1);
}

TEST(RunStop, OthersMayCancelAtAnyTime) {
  const PausingOps ops([] {});
  const Loaded bundle(pausing_bundle(), ops.table());
  Session session = make(bundle.method());
  const float x = 3;
  ASSERT_TRUE(session.set_input(0, &x, sizeof(x)).ok());
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) session.cancel();
  });
  for (int i = 0; i < 1000; ++i) {
    const Status status = session.run();
    EXPECT_TRUE(status.ok() || status.error() == Error::kCancelled) << status.message();
  }
  done = true;
  canceller.join();
}

TEST(RunStop, ADeadlineEndsTheRunAtItsNextNode) {
  const PausingOps ops([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); });
  const Loaded bundle(pausing_bundle(), ops.table());
  const float x = 3;
  for (const uint64_t milliseconds : {10, 60000, 0}) {
    SessionOptions options = test::on_reference();
    options.deadline_nanoseconds = milliseconds * 1000000;
    Session session = make(bundle.method(), options);
    ASSERT_TRUE(session.set_input(0, &x, sizeof(x)).ok());
    const Status status = session.run();
    if (milliseconds != 10) {
      EXPECT_TRUE(status.ok()) << status.message();
      continue;
    }
    EXPECT_EQ(status.error(), Error::kDeadlineExceeded);
    EXPECT_THAT(status.message(), HasSubstr("node 2 (unary): the run took longer than its deadline "
                                            "of 0.01 s"));
    EXPECT_EQ(count_in(session), 0);
  }
}

/// The next variant is not tried after a cancelled one.
TEST(RunStop, ADeadlineHoldsForAllVariants) {
  const Loaded bundle(test::branching_bundle());
  SessionOptions options = test::on_reference();
  options.deadline_nanoseconds = 1;
  Session session = make(bundle.method(), options);
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kDeadlineExceeded) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("variant 0: "));
}

/// Under ThreadSanitizer this is a test of the counters. A node is refused during a run, and the
/// run does not notice.
TEST(RunStop, NodesAndStatsMayBeAskedForDuringARun) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options = test::on_reference();
  options.profile = true;
  Session session = make(tiny.method(), options);
  ASSERT_TRUE(session.set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  constexpr uint64_t kRuns = 500;
  std::atomic<bool> done{false};
  std::thread runner([&] {
    for (uint64_t i = 0; i < kRuns; ++i) EXPECT_TRUE(session.run().ok());
    done = true;
  });
  while (!done) {
    EXPECT_GT(session.stats().arena_bytes, 0u);
    for (size_t i = 0; i < session.node_count(); ++i) {
      const Result<NodeInfo> node = session.node(i);
      if (node.ok()) {
        EXPECT_LE(node->runs, kRuns);
      } else {
        EXPECT_EQ(node.status().error(), Error::kBusy) << node.status().message();
      }
    }
  }
  runner.join();
  EXPECT_EQ(session.node(0)->runs, kRuns);
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Inputs of two variants lie in a block of their own: each run may move each of them.
TEST(RunStop, ManyInputsAreMovedInTimeProportionalToThem) {
  constexpr int kInputs = 100000;
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  for (int i = 0; i < kInputs; ++i) b.input(std::to_string(i), DType::kUInt8, {1});
  b.output("y", 0);
  auto variant = std::make_unique<fb::MethodT>(b.method());
  b.method().variants.push_back(std::move(variant));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  const uint8_t byte = 7;
  for (size_t i = 0; i < kInputs; ++i) ASSERT_TRUE(session.set_input(i, &byte, 1).ok());
  const double begin = cpu_seconds();
  ASSERT_TRUE(session.run().ok());
  EXPECT_LT(cpu_seconds() - begin, 1) << "each input looked at each value";
  EXPECT_EQ(*session.output(0)->as<uint8_t>(), 7);
}

}  // namespace
}  // namespace lazyrt
