// A session with a reserve takes other sizes without memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/stress/counting_malloc.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::Loaded;
using testing::HasSubstr;

/// An allocator that can be told to count who asks, and to give no more.
struct Trap {
  bool is_set = false;
  bool gives = false;  ///< even when it is set
  int asked = 0;
  int live = 0;

  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) -> void* {
              auto* trap = static_cast<Trap*>(self);
              if (trap->is_set) {
                ++trap->asked;
                if (!trap->gives) return nullptr;
              }
              ++trap->live;
              const size_t unit = std::max<size_t>(alignment, 16);
              return std::aligned_alloc(unit, (bytes + unit) / unit * unit);
            },
            [](void* self, void* p) {
              if (p != nullptr) --static_cast<Trap*>(self)->live;
              std::free(p);
            }};
  }
};

/// Of test::sized_mixed_bundle.
struct Sizes {
  int64_t batch, height, width;
  Shape image() const { return {batch, height, width, 3}; }
};

struct Drawn {
  explicit Drawn(uint32_t seed) : random(seed) {}
  Sizes next() {
    const auto draw = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
    };
    return {1 + draw(4), 8 + 4 * draw(7), 8 + 4 * draw(7)};
  }
  std::mt19937 random;
};

class Reserve : public testing::TestWithParam<const Backend*> {
 protected:
  SessionOptions options(Trap* trap) const {
    SessionOptions options;
    options.backend = GetParam();
    options.allocator = trap->hooks();
    options.reserve = true;
    return options;
  }
  static Status run(Session* session, const std::vector<float>& image, const Sizes& sizes) {
    const TensorView view = {const_cast<float*>(image.data()), DType::kFloat32, sizes.image()};
    const int64_t ids[] = {1, 9, 0, 3, 3};
    LAZYRT_RETURN_IF_ERROR(session->set_input(0, view));
    LAZYRT_RETURN_IF_ERROR(session->set_input(1, ids, sizeof(ids)));
    return session->run();
  }
  /// As `session` without a reserve.
  static std::vector<float> expected(const Method& method, const std::vector<float>& image,
                                     const Sizes& sizes) {
    SessionOptions plain;
    plain.backend = GetParam();
    Session session = test::make(method, plain);
    EXPECT_TRUE(run(&session, image, sizes).ok());
    return test::floats(session, 0);
  }
};

TEST_P(Reserve, BindsAnySizesWithoutMemory) {
  Trap program_memory, trap;
  const AllocatorHooks hooks = program_memory.hooks();
  const test::AlignedBytes file = write_bundle(test::sized_mixed_bundle(default_ops()));
  LoadOptions load;
  load.allocator = hooks;
  const Result<Program> program = Program::load(file.span(), default_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Method method = program->method(0);
  const std::vector<float> image = test::random_floats(4 * 32 * 32 * 3, 3);
  {
    Result<Session> session = Session::create(method, options(&trap));
    ASSERT_TRUE(session.ok()) << session.status().message();
    std::vector<std::pair<Sizes, std::vector<float>>> seen;
    trap.is_set = program_memory.is_set = true;
    program_memory.gives = true;
    Drawn drawn(11);
    for (int i = 0; i < 150; ++i) {
      const Sizes sizes = i == 0   ? Sizes{4, 32, 32}
                          : i == 1 ? Sizes{1, 8, 8}
                          : i == 2 ? Sizes{4, 32, 32}
                                   : drawn.next();
      const Status status = run(&*session, image, sizes);
      ASSERT_TRUE(status.ok()) << status.message();
      if (i % 10 == 0) seen.emplace_back(sizes, test::floats(*session, 0));
    }
    EXPECT_EQ(trap.asked, 0);
    // XNNPACK packs the filters of its depthwise and transposed convolutions before it finds that
    // the Program has them.
    EXPECT_LE(program_memory.asked, GetParam() == cpu_backend() ? 2 * 150 : 0);
    EXPECT_EQ(session->stats().beyond_reserve, 0u);
    trap.is_set = program_memory.is_set = false;
    for (const auto& [sizes, result] : seen) EXPECT_EQ(result, expected(method, image, sizes));
  }
  EXPECT_EQ(trap.live, 0);
}

TEST_P(Reserve, TakesNothingFromTheHeapEither) {
  if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  const Loaded loaded(test::sized_mixed_bundle(default_ops()), default_ops());
  SessionOptions options;
  options.backend = GetParam();
  options.reserve = true;
  Session session = test::make(loaded.method(), options);
  const std::vector<float> image = test::random_floats(4 * 32 * 32 * 3, 3);
  Drawn drawn(5);
  Status status;
  size_t calls = 0;
  {
    const test::AllocationCount count;
    for (int i = 0; i < 50 && status.ok(); ++i) status = run(&session, image, drawn.next());
    calls = count.calls();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(calls, GetParam() == cpu_backend() ? 2 * 50u : 0u) << "as above";
}

/// The session of dynamic_bundle or ranges_bundle gives `times` 3 everywhere at size n, where only
/// ids and mask are set anew.
void expect_at(Session* session, int64_t n, float times) {
  const std::vector<float> ones(3 * 512, 1);
  const std::vector<int64_t> ids(512, 1);
  ASSERT_TRUE(session->set_input(1, ids.data(), static_cast<size_t>(n) * 8).ok());
  ASSERT_TRUE(session->set_input(2, ones.data(), static_cast<size_t>(n) * 12).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_THAT(test::floats(*session, 0), testing::Each(3 * times));
}

TEST_P(Reserve, InputsAndResultsAreWhatTheyAreWithoutIt) {
  Trap trap;
  const Loaded loaded(test::dynamic_bundle());
  Session session = test::make(loaded.method(), options(&trap));
  trap.is_set = true;
  const std::vector<float> x(12, 2);
  ASSERT_TRUE(session.set_input(0, x.data(), 48).ok());
  int runs = 0;
  for (const int64_t n : {6, 512, 2, 64, 6}) {
    expect_at(&session, n, 3);
    EXPECT_EQ(*session.state(0)->as<float>(), static_cast<float>(++runs));
  }
  const int64_t three[3] = {1, 1, 1};
  EXPECT_EQ(session.set_input(1, three, sizeof(three)).error(), Error::kInvalidArgument);
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(trap.asked, 0);
}

TEST_P(Reserve, HoldsForTheRangesOfAllVariants) {
  Trap trap;
  const Loaded loaded(test::ranges_bundle());
  Session session = test::make(loaded.method(), options(&trap));
  trap.is_set = true;
  const std::vector<float> x(12, 2);
  ASSERT_TRUE(session.set_input(0, x.data(), 48).ok());
  for (const int64_t n : {6, 512, 100, 102, 64, 6}) expect_at(&session, n, n > 100 ? 4 : 3);
  EXPECT_EQ(trap.asked, 0);
}

TEST_P(Reserve, CountsAgainstTheLimit) {
  const Loaded loaded(test::sized_mixed_bundle(default_ops()), default_ops());
  SessionOptions plain;
  plain.backend = GetParam();
  const uint64_t small = test::make(loaded.method(), plain).stats().total_bytes;
  plain.reserve = true;
  const uint64_t reserved = test::make(loaded.method(), plain).stats().total_bytes;
  EXPECT_GT(reserved, small);
  plain.memory_limit = reserved / 2;
  EXPECT_EQ(Session::create(loaded.method(), plain).status().error(), Error::kOutOfMemory);
}

TEST_P(Reserve, TakesTheExportersHint) {
  test::BundleParts parts = test::sized_mixed_bundle(default_ops());
  SessionOptions options;
  options.backend = GetParam();
  options.reserve = true;
  const Loaded without(parts, default_ops());
  EXPECT_EQ(without.method().reserved_bytes(), without.method().arena_bytes());
  const uint64_t before = test::make(without.method(), options).stats().total_bytes;
  parts.bundle.methods[0]->reserved_bytes = 50 << 20;
  const Loaded with(parts, default_ops());
  EXPECT_EQ(with.method().reserved_bytes(), uint64_t{50} << 20);
  EXPECT_GT(test::make(with.method(), options).stats().total_bytes, before + (40 << 20));
  parts.bundle.methods[0]->reserved_bytes = UINT64_MAX;
  const Loaded hostile(parts, default_ops());
  EXPECT_EQ(Session::create(hostile.method(), options).status().error(), Error::kOutOfMemory);
  options.reserve = false;
  EXPECT_TRUE(Session::create(hostile.method(), options).ok());
}

INSTANTIATE_TEST_SUITE_P(Backends, Reserve, testing::Values(reference_backend(), cpu_backend()),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace lazyrt
