#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "lazyrt/log.h"
#include "lazyrt/runtime.h"
#include "runtime/backend/backend.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::floats;
using test::Loaded;
using test::make;
using test::on_reference;
using testing::ElementsAreArray;
using testing::HasSubstr;

void set_tiny_inputs(Session* session) {
  ASSERT_TRUE(session->set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(session->set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
}

TEST(Session, RunsTheTinyBundleAgainAndAgain) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  set_tiny_inputs(&session);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
    EXPECT_THAT(floats(session, 1), ElementsAreArray(test::kTinyX));
    EXPECT_THAT(floats(session, 2), ElementsAreArray(test::kTinyW));
    EXPECT_THAT(floats(session, 3), ElementsAreArray(test::kTinyTotal));
  }
}

TEST(Session, DescribesTheMethod) {
  const Loaded tiny(test::tiny_bundle());
  const Method m = tiny.method();
  EXPECT_STREQ(m.name(), "forward");
  ASSERT_EQ(m.input_count(), 2u);
  EXPECT_STREQ(m.input(1).name, "ids");
  EXPECT_EQ(m.input(1).dtype, DType::kInt64);
  EXPECT_EQ(m.output(0).shape, Shape({6}));
  EXPECT_EQ(*m.find_output("again"), 3u);
  EXPECT_THAT(m.find_input("y").status().message(), HasSubstr("no input 'y'; there is: x, ids"));
  EXPECT_THAT(tiny.program->method("back").status().message(), HasSubstr("there is: forward"));
  ASSERT_EQ(m.literal_count(), 1u);
  EXPECT_EQ(m.literal(0).integer, 6);
  EXPECT_EQ(m.literal(0).position, 2u);
  ASSERT_EQ(m.sample_count(), 1u);
  EXPECT_EQ(m.sample_input(0, 0).as<float>()[1], test::kTinyX[1]);
  EXPECT_EQ(m.sample_output(0, 0).as<float>()[5], test::kTinyTotal[5]);
  EXPECT_EQ(m.sample_tolerance(0).absolute, 0.5);
  EXPECT_EQ(m.sample_tolerance(0).relative, 0.25);
}

TEST(Session, SaysWhichInputIsWrong) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  EXPECT_THAT(session.run().message(), HasSubstr("input 'x' was never set"));
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  const Status bytes = session.set_input(0, test::kTinyX, 20);
  EXPECT_EQ(bytes.error(), Error::kInvalidArgument);
  EXPECT_THAT(bytes.message(), HasSubstr("input 'x' takes 24 bytes (f32[2,3]), got 20"));
  EXPECT_THAT(session.set_input(2, test::kTinyX, 24).message(),
              HasSubstr("no input 2, the method has 2"));
  float data[6] = {};
  EXPECT_THAT(session.set_input(0, {data, DType::kFloat32, {3, 2}}).message(),
              HasSubstr("takes f32[2,3], got f32[3,2]"));
  EXPECT_EQ(session.set_input(0, nullptr, 24).error(), Error::kInvalidArgument);
  EXPECT_EQ(session.bind_input(0, {data, DType::kFloat32, {2, 3}}, 23).error(),
            Error::kInvalidArgument);
}

TEST(Session, ABadIndexNamesItsNode) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  set_tiny_inputs(&session);
  const int64_t bad[2] = {0, 2};
  ASSERT_TRUE(session.set_input(1, bad, sizeof(bad)).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kOutOfRange);
  EXPECT_THAT(
      status.message(),
      HasSubstr("method 'forward', node 0 (index_select from model.py:11): id 2 of 2 rows"));
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  ASSERT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  EXPECT_TRUE(session.run().ok());
}

TEST(Session, BindsWithoutACopyWhereAlignmentAndTailAllow) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  set_tiny_inputs(&session);
  alignas(64) float mine[16] = {1, 1, 1, 1, 1, 1};
  const TensorView view = {mine, DType::kFloat32, {2, 3}};
  ASSERT_TRUE(session.bind_input(0, view, sizeof(mine)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(session.output(1)->data, mine);
  std::copy(test::kTinyX, test::kTinyX + 6, mine);
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
  // Back to a copy.
  set_tiny_inputs(&session);
  mine[0] = 1000;
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
}

TEST(Session, CopiesABoundInputThatIsNotFit) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  set_tiny_inputs(&session);
  alignas(64) float mine[32] = {};
  float* odd = mine + 1;
  std::copy(test::kTinyX, test::kTinyX + 6, odd);
  for (const auto& [data, readable] :
       std::map<float*, size_t>{{odd, 100}, {mine, 24 + kTailBytes - 1}}) {
    std::copy(test::kTinyX, test::kTinyX + 6, data);
    ASSERT_TRUE(session.bind_input(0, {data, DType::kFloat32, {2, 3}}, readable).ok());
    ASSERT_TRUE(session.run().ok());
    EXPECT_NE(session.output(1)->data, data);
    EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
    data[3] = -1000;  // row 1 of x: read again at the next run
    ASSERT_TRUE(session.run().ok());
    EXPECT_NE(floats(session, 0)[0], test::kTinyTotal[0]);
  }
}

/// A page of memory whose next page must not be touched.
class GuardedPage {
 public:
  GuardedPage() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<uint8_t*>(
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_NONE);
  }
  ~GuardedPage() { munmap(base_, 2 * page_); }
  void* last(size_t bytes) { return base_ + page_ - bytes; }

 private:
  size_t page_;
  uint8_t* base_;
};

TEST(Session, InputsAgainstAGuardPageAreNotReadPastTheirEnd) {
  const Loaded tiny(test::tiny_bundle());
  Session session = make(tiny.method());
  GuardedPage x;
  GuardedPage ids;
  std::copy(test::kTinyX, test::kTinyX + 6, static_cast<float*>(x.last(24)));
  std::copy(test::kTinyIds, test::kTinyIds + 2, static_cast<int64_t*>(ids.last(16)));
  ASSERT_TRUE(session.bind_input(0, {x.last(24), DType::kFloat32, {2, 3}}, 24).ok());
  ASSERT_TRUE(session.bind_input(1, {ids.last(16), DType::kInt64, {2}}, 16).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
}

TEST(Session, ViewsOfABoundInputFollowIt) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2, 2});
  const int flat = b.node(test::reshape({4}), {x}, DType::kFloat32, {4}, x);
  b.output("flat", flat);
  b.output("twice", b.node(test::add(), {flat, flat}, DType::kFloat32, {4}));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  alignas(64) float first[16] = {1, 2, 3, 4};
  alignas(64) float second[16] = {5, 6, 7, 8};
  for (float* data : {first, second, first}) {
    ASSERT_TRUE(session.bind_input(0, {data, DType::kFloat32, {2, 2}}, 64).ok());
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(session.output(0)->data, data);
    EXPECT_EQ(floats(session, 1)[3], 2 * data[3]);
  }
}

TEST(Session, BatchZeroRuns) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {0, 3});
  const int y = b.node(test::add(), {x, x}, DType::kFloat32, {0, 3});
  b.output("y", b.node(test::relu(), {y}, DType::kFloat32, {0, 3}, y));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, nullptr, 0).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(session.output(0)->shape, Shape({0, 3}));
}

TEST(Session, RefusesBadOptions) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options;
  EXPECT_THAT(Session::create(tiny.method(), options).status().message(),
              HasSubstr("backend is null"));
  options = on_reference();
  for (int threads : {0, -1, 257}) {
    options.threads = threads;
    EXPECT_EQ(Session::create(tiny.method(), options).status().error(), Error::kInvalidArgument);
  }
  options = on_reference();
  options.memory_limit = tiny.method().arena_bytes();
  const Status status = Session::create(tiny.method(), options).status();
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("exceed SessionOptions::memory_limit of 320"));
}

TEST(Session, AllThatItTakesCountsAgainstTheLimit) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options = on_reference();
  const SessionStats stats = make(tiny.method(), options).stats();
  EXPECT_GT(stats.total_bytes, stats.arena_bytes + stats.workspace_bytes + stats.state_bytes);
  options.memory_limit = stats.total_bytes - 1;
  const Status status = Session::create(tiny.method(), options).status();
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("in use exceed SessionOptions::memory_limit of"));
  options.memory_limit = stats.total_bytes + 2048;  // room for what only planning takes
  EXPECT_TRUE(Session::create(tiny.method(), options).ok());
}

TEST(Session, ReportsMemoryAndNodes) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options = on_reference();
  options.profile = true;
  Session session = make(tiny.method(), options);
  const SessionStats stats = session.stats();
  EXPECT_EQ(stats.arena_bytes, tiny.method().arena_bytes());
  EXPECT_EQ(stats.workspace_bytes, 24u);
  EXPECT_EQ(stats.packed_weight_bytes, 24u);
  ASSERT_EQ(session.node_count(), 6u);
  const NodeInfo relu = *session.node(test::tiny::kReluNode);
  EXPECT_STREQ(relu.op, "unary");
  EXPECT_STREQ(relu.backend, "reference");
  EXPECT_STREQ(relu.fallback_reason, "");
  EXPECT_STREQ(relu.aten, "aten::relu");
  EXPECT_STREQ(relu.module_path, "body.act");
  EXPECT_EQ(relu.line, 33);
  EXPECT_STREQ(session.node(test::tiny::kSumNode)->file, "");
  set_tiny_inputs(&session);
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(session.node(0)->runs, 2u);
}

/// A backend that takes only unary, refuses add at prepare, and counts its stores of weights.
struct PickyBackend {
  static inline int stores = 0;
  static inline int sessions = 0;
  static inline void* seen_weights = nullptr;

  static const Kernel* select(const OpEntry& op, const NodeSpec&, Fault* why) {
    static const Kernel kRefusing = [] {
      Kernel k;
      k.prepare = [](const PrepareContext&, PreparedKernel*) {
        return Fault(Error::kUnsupported, "this add is too wide");
      };
      return k;
    }();
    if (op.kind == fb::OpAttrs::Unary) return op.kernels[0];
    if (op.kind == fb::OpAttrs::Binary) return &kRefusing;
    *why = Status(Error::kUnsupported, "picky has no %s", op.name);
    return nullptr;
  }
  static Backend backend(const Backend* fallback) {
    Backend b;
    b.name = "picky";
    b.select = select;
    b.open = [](const BackendOptions& o, void** services) {
      seen_weights = o.weights;
      *services = &sessions;
      ++sessions;
      return Fault();
    };
    b.close = [](void*, const Allocator&) { --sessions; };
    b.open_weights = [](const WeightOptions&, void** weights) {
      *weights = &stores;
      ++stores;
      return Fault();
    };
    b.close_weights = [](void*) { --stores; };
    b.fallback = fallback;
    return b;
  }
};

TEST(Session, FallsBackWithTheReason) {
  const Backend picky = PickyBackend::backend(reference_backend());
  {
    const Loaded tiny(test::tiny_bundle());
    SessionOptions options;
    options.backend = &picky;
    Session a = make(tiny.method(), options);
    Session b = make(tiny.method(), options);
    EXPECT_EQ(PickyBackend::stores, 1) << "weights are shared by the sessions of a program";
    EXPECT_EQ(PickyBackend::sessions, 2);
    EXPECT_EQ(PickyBackend::seen_weights, &PickyBackend::stores);
    EXPECT_STREQ(a.node(test::tiny::kReluNode)->backend, "picky");
    EXPECT_STREQ(a.node(test::tiny::kReluNode)->fallback_reason, "");
    EXPECT_STREQ(a.node(test::tiny::kRowsNode)->backend, "reference");
    EXPECT_STREQ(a.node(test::tiny::kRowsNode)->fallback_reason, "picky has no index_select");
    EXPECT_STREQ(a.node(test::tiny::kSumNode)->fallback_reason, "this add is too wide");
    set_tiny_inputs(&a);
    ASSERT_TRUE(a.run().ok());
    EXPECT_THAT(floats(a, 0), ElementsAreArray(test::kTinyTotal));
  }
  EXPECT_EQ(PickyBackend::sessions, 0);
  EXPECT_EQ(PickyBackend::stores, 0);
}

TEST(Session, TextsOfNodesOutliveIt) {
  const Backend picky = PickyBackend::backend(reference_backend());
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options;
  options.backend = &picky;
  NodeInfo rows, relu;
  {
    const Session session = make(tiny.method(), options);
    rows = *session.node(test::tiny::kRowsNode);
    relu = *session.node(test::tiny::kReluNode);
  }
  EXPECT_STREQ(rows.fallback_reason, "picky has no index_select");
  EXPECT_STREQ(relu.module_path, "body.act");
  EXPECT_STREQ(make(tiny.method(), options).node(test::tiny::kRowsNode)->fallback_reason,
               rows.fallback_reason);
}

/// Takes every operator, and wants more memory for it than a node of a few bytes may take.
struct GreedyBackend {
  static constexpr size_t kWanted = size_t{64} << 20;
  static inline bool wants_workspace = false;
  static inline int live = 0;

  static const Kernel* select(const OpEntry&, const NodeSpec&, Fault*) {
    static const Kernel kernel = [] {
      Kernel k;
      k.prepare = [](const PrepareContext& context, PreparedKernel* prepared) {
        const size_t bytes = wants_workspace ? 16 : kWanted;
        prepared->state = context.allocator.allocate(context.allocator.context, bytes, 16);
        if (prepared->state == nullptr) return Fault(Error::kOutOfMemory, "no memory for greed");
        if (wants_workspace) prepared->workspace_bytes = kWanted;
        ++live;
        return Fault();
      };
      k.release = [](void* state, const Allocator& allocator) {
        --live;
        allocator.release(allocator.context, state);
      };
      return k;
    }();
    return &kernel;
  }
};

TEST(Session, ANodeThatWantsMoreThanItsShareGoesOn) {
  Backend greedy;
  greedy.name = "greedy";
  greedy.select = GreedyBackend::select;
  greedy.fallback = reference_backend();
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options;
  options.backend = &greedy;
  for (const bool wants_workspace : {false, true}) {
    GreedyBackend::wants_workspace = wants_workspace;
    Session session = make(tiny.method(), options);
    EXPECT_EQ(GreedyBackend::live, 0);
    EXPECT_LT(session.stats().workspace_bytes, GreedyBackend::kWanted);
    for (size_t i = 0; i < session.node_count(); ++i) {
      EXPECT_STREQ(session.node(i)->backend, "reference");
      EXPECT_THAT(session.node(i)->fallback_reason,
                  HasSubstr("more than a node of its size may take"));
    }
    set_tiny_inputs(&session);
    ASSERT_TRUE(session.run().ok());
    EXPECT_THAT(floats(session, 0), ElementsAreArray(test::kTinyTotal));
  }
}

TEST(Session, AnArenaThatLoadsIsNotRefusedForThePlanBesideIt) {
  if (sizeof(size_t) < 8) GTEST_SKIP() << "such an arena is refused when it is loaded";
  constexpr uint64_t kArena = kDefaultMemoryLimit - 4096;
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  b.output("y", b.input("x", DType::kUInt8, {int64_t{kArena}}));
  const Loaded large(parts);
  static uint64_t most;
  most = 0;
  SessionOptions options = on_reference();
  options.allocator = {nullptr,
                       [](void*, size_t bytes, size_t alignment) -> void* {
                         most = std::max<uint64_t>(most, bytes);
                         if (bytes > size_t{1} << 30) return nullptr;
                         return platform_allocator().allocate(nullptr, bytes, alignment);
                       },
                       [](void*, void* p) { platform_allocator().release(nullptr, p); }};
  const Result<Session> session = Session::create(large.method(), options);
  EXPECT_EQ(session.status().error(), Error::kOutOfMemory);
  EXPECT_GE(most, kArena) << session.status().message();
}

TEST(Session, LogsEachFallbackThroughTheHook) {
  static std::vector<std::string> lines;
  lines.clear();
  set_log_hook([](LogLevel, const char* message) { lines.push_back(message); });
  const Backend picky = PickyBackend::backend(reference_backend());
  {
    const Loaded tiny(test::tiny_bundle());
    SessionOptions options;
    options.backend = &picky;
    make(tiny.method(), options);
    set_log_hook(nullptr);
    make(tiny.method(), options);
  }
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0],
            "method 'forward', node 0 (index_select from model.py:11): runs on reference: picky "
            "has no index_select");
}

TEST(Session, WithoutAFallbackTheNodeIsNamed) {
  const Backend picky = PickyBackend::backend(nullptr);
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options;
  options.backend = &picky;
  const Status status = Session::create(tiny.method(), options).status();
  EXPECT_EQ(status.error(), Error::kUnsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("node 0 (index_select from model.py:11): picky has no index_select"));
}

/// A custom operator that waits until it is let go.
struct Gate {
  static inline std::atomic<bool> inside{false};
  static inline std::atomic<bool> open{false};
  OpDef def;
  CustomOpEntry entry;
  OpTable table;
  Gate() {
    def.infer = [](const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
      out[0] = {in[0].dtype, in[0].shape};
      return Fault();
    };
    def.reference.run = [](void*, const RunContext&) {
      inside = true;
      while (!open) std::this_thread::yield();
      return Fault();
    };
    entry = {"test.gate", 1, {fb::OpAttrs::CustomOp, "gate", &def, {&def.reference}}};
    table.custom = {&entry, 1};
  }
};

TEST(Session, ASecondThreadIsTurnedAway) {
  const Gate gate;
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {1});
  fb::CustomOpT attrs;
  attrs.name = "test.gate";
  attrs.version = 1;
  b.output("y", b.node(attrs, {x}, DType::kFloat32, {1}));
  const Loaded bundle(parts, gate.table);
  Session session = make(bundle.method());
  const float one = 1;
  ASSERT_TRUE(session.set_input(0, &one, sizeof(one)).ok());
  Status first;
  std::thread runner([&] { first = session.run(); });
  while (!Gate::inside) std::this_thread::yield();
  EXPECT_EQ(session.run().error(), Error::kBusy);
  EXPECT_EQ(session.set_input(0, &one, sizeof(one)).error(), Error::kBusy);
  EXPECT_EQ(session.bind_input(0, {}, 0).error(), Error::kBusy);
  EXPECT_EQ(session.output(0).status().error(), Error::kBusy);
  EXPECT_EQ(session.reset_state().error(), Error::kBusy);
  EXPECT_EQ(session.state(0).status().error(), Error::kBusy);
  EXPECT_EQ(session.variant().status().error(), Error::kBusy);
  EXPECT_EQ(session.node(0).status().error(), Error::kBusy);
  EXPECT_EQ(session.node_count(), 1u);
  Gate::open = true;
  runner.join();
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(session.output(0).ok());
  EXPECT_TRUE(session.node(0).ok());
}

TEST(Session, ThereAreNoNodesBehindTheLast) {
  const Loaded tiny(test::tiny_bundle());
  const Session session = make(tiny.method());
  for (const size_t i : {size_t{6}, size_t{7}, SIZE_MAX}) {
    const Result<NodeInfo> node = session.node(i);
    EXPECT_EQ(node.status().error(), Error::kInvalidArgument);
    EXPECT_THAT(node.status().message(), HasSubstr("the session has 6"));
  }
}

TEST(Session, SessionsOnSeveralThreadsShareAProgram) {
  const Loaded tiny(test::tiny_bundle());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Session session = make(tiny.method());
      set_tiny_inputs(&session);
      for (int i = 0; i < 50; ++i)
        right += session.run().ok() && floats(session, 0)[0] == 15 ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 200);
}

/// Lets `left` allocations through and counts what is out.
struct Meter {
  int left = 0;
  int live = 0;
  AllocatorHooks hooks() {
    AllocatorHooks h;
    h.context = this;
    h.allocate = [](void* self, size_t bytes, size_t alignment) -> void* {
      auto* m = static_cast<Meter*>(self);
      if (m->left-- <= 0) return nullptr;
      ++m->live;
      return std::aligned_alloc(alignment, align_up(bytes + 1, alignment));
    };
    h.release = [](void* self, void* p) {
      if (p != nullptr) --static_cast<Meter*>(self)->live;
      std::free(p);
    };
    return h;
  }
};

TEST(Session, EveryFailingAllocationIsAnErrorAndNothingLeaks) {
  const Loaded tiny(test::tiny_bundle());
  int n = 0;
  for (bool made = false; !made; ++n) {
    ASSERT_LT(n, 1000);
    Meter meter;
    meter.left = n;
    SessionOptions options = on_reference();
    options.allocator = meter.hooks();
    {
      const Result<Session> session = Session::create(tiny.method(), options);
      made = session.ok();
      EXPECT_EQ(session.status().error(), made ? Error::kOk : Error::kOutOfMemory);
    }
    EXPECT_EQ(meter.live, 0) << "after failing allocation " << n;
  }
  EXPECT_GT(n, 10);
}

TEST(Session, AnAllocatorThatIgnoresAlignmentIsRefused) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options = on_reference();
  options.allocator.allocate = [](void*, size_t bytes, size_t) -> void* {
    return static_cast<uint8_t*>(std::aligned_alloc(64, align_up(bytes + 32, 64))) + 16;
  };
  options.allocator.release = [](void*, void* p) { std::free(static_cast<uint8_t*>(p) - 16); };
  const Status status = Session::create(tiny.method(), options).status();
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("alignment"));
}

}  // namespace
}  // namespace lazyrt
