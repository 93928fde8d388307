// The n-th allocation fails: load and create answer kOutOfMemory, whatever n is, and leak nothing.

#include <gtest/gtest.h>

#include <cstdlib>

#include "lazyrt/runtime.h"
#include "tests/stress/counting_malloc.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/mixed_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt {
namespace {

constexpr size_t kMostAllocations = 5000;

TEST(NoMemory, LoadAnswersWhicheverAllocationFails) {
  if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  const test::AlignedBytes file = test::write_bundle(test::tiny_bundle());
  size_t n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, kMostAllocations);
    bool failed = false;
    Error error = Error::kOk;
    {
      const test::FailingMemory memory(n);
      error = Program::load(file.span(), test::tiny_ops()).status().error();
      failed = memory.failed();
    }
    EXPECT_EQ(error, failed ? Error::kOutOfMemory : Error::kOk) << "allocation " << n;
    done = !failed;
  }
  EXPECT_GT(n, 5u);
}

/// Lets some allocations through the session's hooks and counts what is out.
struct Meter {
  size_t left = 0;
  int live = 0;
  bool failed = false;

  AllocatorHooks hooks() {
    AllocatorHooks h;
    h.context = this;
    h.allocate = [](void* self, size_t bytes, size_t alignment) -> void* {
      auto* m = static_cast<Meter*>(self);
      if (m->left == 0) {
        m->failed = true;
        return nullptr;
      }
      --m->left;
      ++m->live;
      const size_t unit = alignment < 16 ? 16 : alignment;
      return std::aligned_alloc(unit, align_up(bytes + 1, unit));
    };
    h.release = [](void* self, void* p) {
      if (p != nullptr) --static_cast<Meter*>(self)->live;
      std::free(p);
    };
    return h;
  }
};

class NoSessionMemory : public testing::TestWithParam<bool> {};

void expect_answers(const test::BundleParts& parts, const Backend* backend) {
  const test::AlignedBytes file = test::write_bundle(parts);
  const Result<Program> program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  size_t n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, kMostAllocations);
    Meter meter;
    meter.left = n;
    SessionOptions options;
    options.backend = backend;
    options.threads = 2;
    options.allocator = meter.hooks();
    {
      const Result<Session> session = Session::create(program->method(0), options);
      EXPECT_EQ(session.status().error(), meter.failed ? Error::kOutOfMemory : Error::kOk)
          << "allocation " << n << ": " << session.status().message();
      done = !meter.failed;
    }
    EXPECT_EQ(meter.live, 0) << "allocation " << n;
  }
  EXPECT_GT(n, 8u);
}

TEST_P(NoSessionMemory, CreateAnswersWhicheverAllocationFails) {
  expect_answers(test::mixed_bundle(default_ops()),
                 GetParam() ? cpu_backend() : reference_backend());
}

TEST_P(NoSessionMemory, OfSeveralVariantsToo) {
  expect_answers(test::branching_bundle(), GetParam() ? cpu_backend() : reference_backend());
}

INSTANTIATE_TEST_SUITE_P(Backends, NoSessionMemory, testing::Bool(), [](const auto& param) {
  return std::string(param.param ? "cpu" : "reference");
});

}  // namespace
}  // namespace lazyrt
