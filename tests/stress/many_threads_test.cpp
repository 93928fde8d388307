// Eight threads make, run and cancel sessions of one Program, and look at each other's: every run
// ends with its result or kCancelled. For ThreadSanitizer, too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/backend/backend.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/fault_walk.h"

namespace lazyrt {
namespace {

using test::WalkScript;
using testing::HasSubstr;

constexpr int kThreads = 8;

/// A session that is being run by its owner, for the others to cancel and to look at.
struct Shown {
  std::mutex mutex;
  Session* session = nullptr;
};

class Crowd {
 public:
  Crowd(const WalkScript& script, const Program& program, int sessions_each)
      : script_(script), program_(program), sessions_each_(sessions_each) {}

  void go() {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  }
  int results() const { return results_; }
  int cancelled() const { return cancelled_; }
  int wrong() const { return wrong_; }

 private:
  void work(int thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    for (int s = 0; s < sessions_each_; ++s) {
      SessionOptions options;
      options.backend = random() % 3 == 0 ? reference_backend() : cpu_backend();
      options.threads = 1 + static_cast<int>(random() % 2);
      options.profile = random() % 2 == 0;
      Result<Session> session = Session::create(program_.method(0), options);
      if (!session.ok()) {
        ++wrong_;
        return;
      }
      show(thread, &*session);
      for (size_t run = 0; run < script_.runs.size(); ++run) use(&*session, run);
      disturb(thread, &random);
      show(thread, nullptr);
    }
  }

  void show(int thread, Session* session) {
    Shown& mine = shown_[thread];
    const std::lock_guard<std::mutex> lock(mine.mutex);
    mine.session = session;
  }

  void use(Session* session, size_t run) {
    const std::vector<TensorView>& inputs = script_.runs[run];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!session->set_input(i, inputs[i]).ok()) ++wrong_;
    }
    const Status status = session->run();
    if (status.error() == Error::kCancelled) {
      ++cancelled_;
    } else if (!status.ok() || !is_right(*session, run)) {
      ++wrong_;
    } else {
      ++results_;
    }
  }

  /// The first output, of either backend within rounding.
  bool is_right(const Session& session, size_t run) const {
    const TensorView view = *session.output(0);
    const std::vector<uint8_t>& expected = script_.expected[run * outputs_of_run()];
    if (view.bytes() != expected.size()) return false;
    for (int64_t i = 0; i < view.numel(); ++i) {
      float want = 0;
      std::memcpy(&want, expected.data() + static_cast<size_t>(i) * sizeof want, sizeof want);
      if (!(std::abs(view.as<float>()[i] - want) <= 1e-4f)) return false;
    }
    return true;
  }
  size_t outputs_of_run() const { return script_.expected.size() / script_.runs.size(); }

  void disturb(int thread, std::mt19937* random) {
    Shown& other = shown_[(thread + 1 + static_cast<int>((*random)() % (kThreads - 1))) % kThreads];
    const std::lock_guard<std::mutex> lock(other.mutex);
    if (other.session == nullptr) return;
    other.session->cancel();
    const SessionStats stats = other.session->stats();
    if (stats.total_bytes == 0) ++wrong_;
    for (size_t i = 0; i < other.session->node_count() && i < 3; ++i) {
      const Result<NodeInfo> node = other.session->node(i);
      wrong_ += node.ok() ? node->op[0] == 0 : node.status().error() != Error::kBusy;
    }
  }

  const WalkScript& script_;
  const Program& program_;
  const int sessions_each_;
  Shown shown_[kThreads];
  std::atomic<int> results_{0}, cancelled_{0}, wrong_{0};
};

/// Hooks that may be called from any thread, and note where two are in them at once.
struct Exclusive {
  std::atomic<int> inside{0}, met{0};

  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) {
              static_cast<Exclusive*>(self)->visit();
              const size_t unit = std::max<size_t>(alignment, 16);
              return std::aligned_alloc(unit, align_up(bytes + 1, unit));
            },
            [](void* self, void* p) {
              static_cast<Exclusive*>(self)->visit();
              std::free(p);
            }};
  }
  void visit() {
    met += inside.fetch_add(1) == 0 ? 0 : 1;
    std::this_thread::yield();
    --inside;
  }
};

TEST(ManyThreads, MakeRunAndCancelSessionsOfOneProgram) {
  for (const int which : {0, 1}) {
    WalkScript script = test::walk_script(which, default_ops());
    SessionOptions options;
    options.backend = reference_backend();
    Exclusive memory;
    LoadOptions load;
    load.allocator = memory.hooks();
    const Result<Program> program = Program::load(script.file.span(), default_ops(), load);
    ASSERT_TRUE(program.ok());
    Session alone = std::move(*Session::create(program->method(0), options));
    for (const auto& inputs : script.runs) {
      for (size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(alone.set_input(i, inputs[i]).ok());
      ASSERT_TRUE(alone.run().ok());
      for (size_t i = 0; i < program->method(0).output_count(); ++i) {
        const TensorView view = *alone.output(i);
        const auto* data = static_cast<const uint8_t*>(view.data);
        script.expected.emplace_back(data, data + view.bytes());
      }
    }
    constexpr int kSessionsEach = 4;
    Crowd crowd(script, *program, kSessionsEach);
    crowd.go();
    EXPECT_EQ(crowd.wrong(), 0);
    EXPECT_EQ(crowd.results() + crowd.cancelled(),
              kThreads * kSessionsEach * static_cast<int>(script.runs.size()));
    EXPECT_GT(crowd.results(), 0);
    EXPECT_EQ(memory.met, 0) << "the Program's hooks were called by two threads at once";
  }
}

/// Refuses every node, with a reason that differs from size to size.
const Kernel* refuse(const OpEntry& op, const NodeSpec& node, Fault* why) {
  *why = Fault(Error::kUnsupported, "%s of %zu bytes", op.name, node.outputs[0].bytes());
  return nullptr;
}

/// The sizes have different variants with different numbers of nodes.
TEST(ManyThreads, NodesAreAskedForWhileSizesChange) {
  Backend refusing;
  refusing.name = "refusing";
  refusing.select = refuse;
  refusing.fallback = reference_backend();
  const test::AlignedBytes file = test::write_bundle(test::guarded_ranges_bundle());
  const Result<Program> program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = &refusing;
  Session session = std::move(*Session::create(program->method(0), options));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> looks{0}, refused{0};
  std::thread other([&] {
    std::vector<NodeInfo> seen;
    for (; !done; ++looks) {
      for (size_t i = 0; i < 4; ++i) {
        const Result<NodeInfo> node = session.node(i);
        if (node.ok()) {
          seen.push_back(*node);
          continue;
        }
        ++refused;
        const Error error = node.status().error();
        EXPECT_TRUE(error == Error::kBusy || error == Error::kInvalidArgument);
      }
      for (const NodeInfo& node : seen) EXPECT_THAT(node.fallback_reason, HasSubstr(" bytes"));
      seen.resize(std::min<size_t>(seen.size(), 100));
    }
  });
  std::vector<float> x(8, 1);
  for (int i = 0; i < 2000 || looks < 10; ++i) {
    const Shape shape({i % 2 == 0 ? 2 + i % 3 : 5 + i % 4, 1});
    ASSERT_TRUE(session.set_input(0, {x.data(), DType::kFloat32, shape}).ok());
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << "who looks at nodes keeps no run out: " << status.message();
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace lazyrt
