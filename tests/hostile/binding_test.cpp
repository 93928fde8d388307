// Other sizes bound inside a run: it ends as a run does, and the session stays as it was.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/hostile/agreement.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

constexpr size_t kFewNodes = 2;
constexpr int kManyNodes = 15'000;

/// x f32[n] through a few relus for n from 1 to 4, through many for n from 5 to 8.
BundleParts short_and_long() {
  BundleParts parts;
  for (const bool is_long : {false, true}) {
    MethodBuilder b(&parts);
    const int64_t n = is_long ? 6 : 2;
    int value = b.input("x", DType::kFloat32, {n});
    for (int i = is_long ? kManyNodes : static_cast<int>(kFewNodes); i > 0; --i)
      value = b.node(test::relu(), {value}, DType::kFloat32, {n});
    b.output("y", value);
    fb::MethodT& m = b.method();
    m.symbols.push_back(std::make_unique<fb::SymbolT>());
    m.symbols[0]->name = "n";
    m.symbols[0]->min = is_long ? 5 : 1;
    m.symbols[0]->max = is_long ? 8 : 4;
    m.values[0]->symbols = {0};
  }
  auto& methods = parts.bundle.methods;
  methods[0]->variants.push_back(std::move(methods[1]));
  methods.resize(1);
  return parts;
}

Status run_at(Session* session, int64_t n) {
  std::vector<float> x(static_cast<size_t>(n), 2.5f);
  const Status set = session->set_input(0, {x.data(), DType::kFloat32, {n}});
  return set.ok() ? session->run() : set;
}

class Binding : public testing::TestWithParam<const Backend* (*)()> {
 protected:
  Binding() : loaded_(short_and_long(), default_ops()) {}

  Session make(uint64_t deadline) {
    SessionOptions options;
    options.backend = GetParam()();
    options.deadline_nanoseconds = deadline;
    return test::make(loaded_.method(), options);
  }
  /// How long a run at the larger sizes is bound for, at least.
  uint64_t nanoseconds_to_bind() {
    uint64_t least = UINT64_MAX;
    for (int turn = 0; turn < 2; ++turn) {
      Session session = make(0);
      const Shape larger[] = {Shape{6}};
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(session.bind_shapes(larger).ok());
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
      EXPECT_EQ(session.node_count(), static_cast<size_t>(kManyNodes));
      least = std::min(least, static_cast<uint64_t>(took.count()));
    }
    return least;
  }
  static void expect_as_it_was(Session* session) {
    EXPECT_EQ(session->node_count(), kFewNodes);
    EXPECT_FALSE(session->output(0).ok());
    Status status = run_at(session, 3);
    // Where the machine was busy.
    for (int turn = 0; turn < 20 && status.error() == Error::kDeadlineExceeded; ++turn)
      status = run_at(session, 3);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(test::floats(*session, 0), std::vector<float>(3, 2.5f));
  }

  const test::Loaded loaded_;
};

TEST_P(Binding, EndsAtTheDeadlineOfItsRun) {
  Session session = make(nanoseconds_to_bind() / 4);
  const Status status = run_at(&session, 6);
  EXPECT_EQ(status.error(), Error::kDeadlineExceeded) << status.message();
  expect_as_it_was(&session);
}

Status run_beside_cancels(Session* session) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) session->cancel();
  });
  const Status status = run_at(session, 6);
  is_over = true;
  other.join();
  return status;
}

TEST_P(Binding, EndsWhereItsRunIsCancelled) {
  Session session = make(0);
  Status status = run_beside_cancels(&session);
  // On a busy machine the other thread may not have run before all was bound.
  const auto is_late = [&] { return status.ok() || session.node_count() != kFewNodes; };
  for (int turn = 0; turn < 20 && is_late(); ++turn) {
    session = make(0);
    status = run_beside_cancels(&session);
  }
  EXPECT_EQ(status.error(), Error::kCancelled) << status.message();
  expect_as_it_was(&session);
}

/// What a run hears it forgets: the next one binds to its end.
TEST_P(Binding, AStopIsOfOneRunOnly) {
  Session session = make(0);
  session.cancel();
  const Status status = run_at(&session, 6);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(session.node_count(), static_cast<size_t>(kManyNodes));
}

INSTANTIATE_TEST_SUITE_P(Backends, Binding, testing::Values(&cpu_backend, &reference_backend),
                         [](const auto& backend) {
                           return std::string(backend.index == 0 ? "cpu" : "reference");
                         });

}  // namespace
}  // namespace lazyrt
