// Work that is more than VulkanOptions::submission_work: several submissions, between which a run
// can be stopped.

#include <functional>
#include <map>
#include <set>
#include <thread>

#include "tests/support/dynamic_bundle.h"
#include "tests/support/mixed_bundle.h"
#include "tests/vulkan/app_device.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::App;
using test::BundleParts;
using test::Loaded;
using test::Mode;
using test::OnVulkan;

Result<VulkanBackend> dividing(Mode mode, uint64_t work) {
  VulkanOptions options = test::options_of(mode);
  options.submission_work = work;
  options.fallback = reference_backend();
  return VulkanBackend::create(options);
}

class VulkanLongWork : public OnVulkan<Mode> {
 protected:
  void SetUp() override {
    open(GetParam());
    const auto made = made_.try_emplace(GetParam(), dividing(GetParam(), 1)).first;
    ASSERT_TRUE(made->second.ok()) << made->second.status().message();
    divided_.backend = backend().backend();
  }
  static void TearDownTestSuite() { made_.clear(); }
  static const VulkanBackend& backend() { return *made_.at(GetParam()); }
  /// Of the runs since the last call.
  uint64_t submissions() {
    const VulkanStatistics now = backend().statistics();
    EXPECT_EQ(now.submissions - seen_.submissions, now.waits - seen_.waits);
    return now.submissions - std::exchange(seen_, now).submissions;
  }

  static inline std::map<Mode, Result<VulkanBackend>> made_;
  SessionOptions divided_;  ///< each node is a submission
  VulkanStatistics seen_;
};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanLongWork, testing::ValuesIn(test::kModes),
                         [](const auto& test) { return test::mode_name(test.param); });

void set_mixed(Session* session, uint32_t seed) {
  const std::vector<float> image = test::random_floats(12 * 12 * 3, seed);
  const int64_t ids[5] = {1, 9, 0, 3, seed % 10};
  ASSERT_TRUE(session->set_input(0, image.data(), image.size() * 4).ok());
  ASSERT_TRUE(session->set_input(1, ids, sizeof(ids)).ok());
}

void expect_same(const Session& a, const Session& b) {
  for (size_t i = 0; i < 3; ++i) {
    const TensorView x = *a.output(i), y = *b.output(i);
    ASSERT_EQ(x.shape, y.shape);
    EXPECT_EQ(std::memcmp(x.data, y.data, x.bytes()), 0) << "output " << i;
  }
}

TEST_P(VulkanLongWork, HasTheSameResults) {
  const Loaded mixed(test::mixed_bundle(default_ops()), default_ops());
  Session whole = test::make(mixed.method(), options_);
  Session divided = test::make(mixed.method(), divided_);
  for (uint32_t round = 0; round < 3; ++round) {
    for (Session* session : {&whole, &divided}) {
      set_mixed(session, round);
      submissions();
      const Status status = session->run();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_GT(submissions(), divided.node_count() / 2) << "but for views each node is one";
    expect_same(whole, divided);
  }
}

TEST_P(VulkanLongWork, IsDividedWhereItIsTooMuch) {
  constexpr uint64_t kWorkOfNode = 64 * 2 * 9;  // a step and a move for what it reads and writes
  const Result<VulkanBackend> made = dividing(GetParam(), 2 * kWorkOfNode);
  ASSERT_TRUE(made.ok());
  options_.backend = made->backend();
  const Loaded loaded(test::relu_chain(6), default_ops());
  Session session = test::make(loaded.method(), options_);
  struct Size {
    int64_t extent;
    uint64_t submissions;
  };
  for (const Size& size : {Size{64, 3}, {128, 6}, {1, 1}, {65, 6}, {32, 2}, {4096, 6}}) {
    std::vector<float> x = test::random_floats(static_cast<size_t>(size.extent), 3);
    ASSERT_TRUE(session.set_input(0, TensorView{x.data(), DType::kFloat32, {size.extent}}).ok());
    const VulkanStatistics before = made->statistics();
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const VulkanStatistics after = made->statistics();
    EXPECT_EQ(after.submissions - before.submissions, size.submissions) << size.extent;
    EXPECT_EQ(after.waits - before.waits, size.submissions) << size.extent;
    EXPECT_EQ(after.dispatches - before.dispatches, 6U);
    for (float& v : x) v = std::max(v, 0.0F);
    EXPECT_EQ(test::floats(session, 0), x);
  }
}

TEST_P(VulkanLongWork, HasTimesOfNodes) {
  const Loaded loaded(test::relu_chain(5, 4096), default_ops());
  divided_.profile = true;
  Session session = test::make(loaded.method(), divided_);
  std::vector<float> x = test::random_floats(4096, 3);
  ASSERT_TRUE(session.set_input(0, TensorView{x.data(), DType::kFloat32, {4096}}).ok());
  submissions();
  ASSERT_TRUE(session.run().ok());
  EXPECT_GE(submissions(), 5U);
  uint64_t sum = 0;
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo node = *session.node(i);
    EXPECT_TRUE(node.is_copy || node.nanoseconds > 0) << i;
    sum += node.nanoseconds;
  }
  EXPECT_LT(sum, uint64_t{10'000'000'000}) << "what is not theirs is in it";
}

/// sum + x -> sum, a state; y = relu(relu(... rows[ids] ... sum)), of `nodes` nodes.
BundleParts chain_bundle(int before, int behind) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int ids = b.input("ids", DType::kInt64, {4});
  const int sum = b.state("sum", DType::kFloat32, {4});
  const int next = b.infer(default_ops(), test::add(), {sum, x});
  b.method().states[0]->next = next;
  int y = next;
  for (int i = 0; i < before; ++i) y = b.infer(default_ops(), test::relu(), {y});
  y = b.infer(default_ops(), fb::IndexSelectT{}, {y, ids});
  for (int i = 0; i < behind; ++i) y = b.infer(default_ops(), test::relu(), {y});
  b.output("y", y);
  return parts;
}

Status run_chain(Session* session, int64_t id = 0) {
  const float ones[4] = {1, 1, 1, 1};
  const int64_t ids[4] = {0, 3, id, 1};
  EXPECT_TRUE(session->set_input(0, ones, sizeof(ones)).ok());
  EXPECT_TRUE(session->set_input(1, ids, sizeof(ids)).ok());
  return session->run();
}

TEST_P(VulkanLongWork, EndsSoonBehindANodeThatFails) {
  const Loaded loaded(chain_bundle(3, 20), default_ops());
  Session session = test::make(loaded.method(), divided_), here = test::make(loaded.method());
  float sum = 0;
  for (const int64_t id : {2, 4, 1, -5, 7, 0}) {
    submissions();
    const Status status = run_chain(&session, id);
    const bool is_right = id >= 0 && id < 4;
    ASSERT_EQ(status.error(), is_right ? Error::kOk : Error::kOutOfRange) << status.message();
    if (is_right) {
      EXPECT_EQ(submissions(), 25U);
    } else {
      EXPECT_LE(submissions(), 6U) << "the fifth fails, and the next one runs";
      const Status expected = run_chain(&here, id);
      EXPECT_THAT(status.message(), testing::EndsWith(std::strstr(expected.message(), "node 4")));
    }
    sum += is_right ? 1.0F : 0.0F;
    EXPECT_EQ(session.state(0)->as<float>()[2], sum);
    if (is_right) {
      EXPECT_EQ(test::floats(session, 0), std::vector<float>(4, sum));
    }
  }
}

/// The same guard breaks, or the same error is told, as node by node.
TEST_P(VulkanLongWork, TellsWhatIsFirst) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const float one = 1, rows[2] = {0, -5};
  const int x = b.input("x", DType::kFloat32, {1});
  const int id = b.input("id", DType::kInt64, {1});
  const int w = b.constant("one", DType::kFloat32, {1}, &one);
  const int table = b.constant("rows", DType::kFloat32, {2}, rows);
  const int a = b.infer(default_ops(), test::add(), {x, w});
  const int row = b.infer(default_ops(), fb::IndexSelectT{}, {table, id});
  const int c = b.infer(default_ops(), test::add(), {row, a});
  b.output("y", b.infer(default_ops(), test::relu(), {c}));
  for (const int value : {a, c}) {
    auto guard = std::make_unique<fb::GuardT>();
    guard->kind = fb::GuardKind::Truth;
    guard->value = value;
    guard->seen_integer = 1;
    guard->source = -1;
    guard->text = std::to_string(value);
    b.method().guards.push_back(std::move(guard));
  }
  const Loaded loaded(parts, default_ops());
  Session session = test::make(loaded.method(), divided_), here = test::make(loaded.method());
  std::set<Error> seen;
  for (const float in : {-1.0F, 4.0F, 2.0F}) {
    for (const int64_t index : {0, 1, 7}) {
      for (Session* each : {&session, &here}) {
        ASSERT_TRUE(each->set_input(0, &in, sizeof(in)).ok());
        ASSERT_TRUE(each->set_input(1, &index, sizeof(index)).ok());
      }
      const Status expected = here.run(), status = session.run();
      ASSERT_EQ(status.error(), expected.error()) << in << ", " << index << status.message();
      seen.insert(status.error());
      if (status.error() == Error::kGuardFailed) {
        EXPECT_STREQ(status.message(), expected.message());
      }
      if (status.ok()) {
        EXPECT_EQ(test::floats(session, 0), test::floats(here, 0));
      }
    }
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST_P(VulkanLongWork, OfTwoSessionsSharesTheQueue) {
  const Loaded mixed(test::mixed_bundle(default_ops()), default_ops());
  Session whole = test::make(mixed.method(), options_);
  set_mixed(&whole, 1);
  ASSERT_TRUE(whole.run().ok());
  const auto run = [&] {
    Session session = test::make(mixed.method(), divided_);
    for (int round = 0; round < 10; ++round) {
      set_mixed(&session, 1);
      const Status status = session.run();
      ASSERT_TRUE(status.ok()) << status.message();
      expect_same(whole, session);
    }
  };
  std::thread other(run);
  run();
  other.join();
}

TEST(VulkanLongWorkTest, GoesOnBesideOtherBackends) {
  Result<VulkanBackend> backends[] = {dividing(Mode::kStaging, 0), dividing(Mode::kStaging, 1)};
  const Loaded mixed(test::mixed_bundle(default_ops()), default_ops());
  std::vector<Session> sessions;
  for (Result<VulkanBackend>& backend : backends) {
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    for (const char* op : {"gru", "max_pool2d", "softmax"}) ASSERT_TRUE(backend->refuse(op).ok());
    SessionOptions options;
    options.backend = backend->backend();
    sessions.push_back(test::make(mixed.method(), options));
  }
  for (uint32_t round = 0; round < 2; ++round) {
    for (Session& session : sessions) {
      set_mixed(&session, round);
      const Status status = session.run();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    expect_same(sessions[0], sessions[1]);
  }
  EXPECT_EQ(test::new_validation_messages(), "");
}

/// Something happens when a submission is about to begin.
class StoppedLongWork : public OnVulkan<Mode> {
 protected:
  static constexpr int kNodes = 20, kStopped = 7;

  void SetUp() override {
    VulkanAppDevice handles = app_.handles();
    handles.context = this;
    handles.lock = [](void* self) { static_cast<StoppedLongWork*>(self)->lock(); };
    handles.unlock = [](void* self) { static_cast<StoppedLongWork*>(self)->app_.mutex().unlock(); };
    VulkanOptions options = test::options_of(GetParam());
    options.app_device = &handles;
    options.submission_work = 1;
    backend_.emplace(VulkanBackend::create(options));
    ASSERT_TRUE(backend_->ok()) << backend_->status().message();
    options_.backend = (*backend_)->backend();
  }
  void lock() {
    app_.mutex().lock();
    if (++submissions_ == kStopped && at_submission_) at_submission_();
  }
  /// A run that is right.
  void count_to(Session* session, float sum) {
    submissions_ = 0;
    const Status status = run_chain(session);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(submissions_, kNodes);
    EXPECT_EQ(test::floats(*session, 0), std::vector<float>(4, sum));
    EXPECT_EQ(session->state(0)->as<float>()[3], sum);
  }
  /// What the run answers in which `stop` is called.
  Status run_and(const std::function<void()>& stop, Session* session) {
    at_submission_ = stop;
    submissions_ = 0;
    Status status = run_chain(session);
    at_submission_ = nullptr;
    EXPECT_EQ(submissions_, kStopped) << "it ends behind the submission";
    return status;
  }

  App app_;
  std::function<void()> at_submission_;
  int submissions_ = 0;
  std::optional<Result<VulkanBackend>> backend_;
  const Loaded loaded_{chain_bundle(8, kNodes - 10), default_ops()};
};
INSTANTIATE_TEST_SUITE_P(Modes, StoppedLongWork, testing::Values(Mode::kAsItIs, Mode::kStaging),
                         [](const auto& test) { return test::mode_name(test.param); });

TEST_P(StoppedLongWork, IsCancelledInTheMiddle) {
  Session session = test::make(loaded_.method(), options_);
  const auto cancel = [&] { std::thread([&] { session.cancel(); }).join(); };
  count_to(&session, 1);
  for (float sum = 1; sum < 4; ++sum) {
    const Status status = run_and(cancel, &session);
    EXPECT_EQ(status.error(), Error::kCancelled);
    EXPECT_STREQ(status.message(), "method 'forward', on vulkan: cancelled");
    EXPECT_FALSE(session.output(0).ok());
    EXPECT_EQ(session.state(0)->as<float>()[0], sum) << "it changes no state";
    count_to(&session, sum + 1);
  }
}

TEST_P(StoppedLongWork, MeetsItsDeadlineInTheMiddle) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kDeadline = std::chrono::seconds(2);
  options_.deadline_nanoseconds = std::chrono::nanoseconds(kDeadline).count();
  Session session = test::make(loaded_.method(), options_);
  const auto sleep = [&] { std::this_thread::sleep_until(Clock::now() + kDeadline); };
  count_to(&session, 1);
  const Status status = run_and(sleep, &session);
  EXPECT_EQ(status.error(), Error::kDeadlineExceeded);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("on vulkan: the run took longer than its deadline of 2 s"));
  count_to(&session, 2);
}

TEST_P(StoppedLongWork, OfOtherSessionsGoesOn) {
  Session session = test::make(loaded_.method(), options_);
  Session other = test::make(loaded_.method(), options_);
  count_to(&session, 1);
  EXPECT_EQ(run_and([&] { session.cancel(); }, &session).error(), Error::kCancelled);
  count_to(&other, 1);
  count_to(&session, 2);
}

TEST_P(StoppedLongWork, NeverMixesUpTwoThreads) {
  const auto run = [&](bool is_cancelled) {
    Session session = test::make(loaded_.method(), options_);
    std::atomic<bool> done{false};
    std::thread canceller([&] {
      while (is_cancelled && !done) session.cancel(), std::this_thread::yield();
    });
    float sum = 0;
    for (int round = 0; round < 50; ++round) {
      const Status status = run_chain(&session);
      EXPECT_TRUE(status.ok() || (is_cancelled && status.error() == Error::kCancelled))
          << status.message();
      sum += status.ok() ? 1.0F : 0.0F;
      ASSERT_EQ(session.state(0)->as<float>()[1], sum);
    }
    done = true;
    canceller.join();
  };
  std::thread other([&] { run(true); });
  run(false);
  other.join();
}

}  // namespace
}  // namespace lazyrt
