// A program and its session in one buffer of the caller's: no heap at all, from loading to the
// last run; in a buffer of just the bytes that it takes; in none that is smaller.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "lazyrt/runtime.h"
#include "lazyrt/static_memory.h"
#include "tests/stress/counting_malloc.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/example_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

constexpr size_t kRoom = 1 << 20;
constexpr size_t kStep = alignof(std::max_align_t);

struct FreeBlock {
  void operator()(uint8_t* block) const { std::free(block); }
};

class StaticBuffer : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    file_ = test::write_bundle(name == "mixed"       ? test::mixed_bundle(default_ops())
                               : name == "branching" ? test::branching_bundle()
                                                     : test::example_bundle(default_ops()));
    block_.reset(static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kRoom)));
  }

  /// Loads, makes a session, runs it twice; `peak` is what that took.
  Error run_in(size_t bytes, size_t* peak) {
    StaticMemory memory(block_.get(), bytes);
    const Error error = run(&memory);
    *peak = memory.peak();
    EXPECT_EQ(memory.used(), 0u) << "something was not given back";
    return error;
  }

  size_t least() {
    size_t peak = 0;
    EXPECT_EQ(run_in(kRoom, &peak), Error::kOk);
    return peak;
  }

 private:
  Error run(StaticMemory* memory) const {
    LoadOptions load;
    load.allocator = memory->hooks();
    Result<Program> program = Program::load(file_.span(), default_ops(), load);
    if (!program.ok()) return program.status().error();
    SessionOptions options;
    options.backend = reference_backend();
    options.allocator = memory->hooks();
    const Method method = program->method(0);
    Result<Session> session = Session::create(method, options);
    if (!session.ok()) return session.status().error();
    for (int round = 0; round < 2; ++round) {
      const Error error = run_once(method, &*session);
      if (error != Error::kOk) return error;
    }
    return Error::kOk;
  }

  static Error run_once(const Method& method, Session* session) {
    static uint8_t zeros[1 << 16];
    for (size_t i = 0; i < method.input_count(); ++i) {
      const TensorInfo input = method.input(i);
      const Status status =
          method.sample_count() != 0
              ? session->set_input(i, method.sample_input(0, i))
              : session->set_input(i, TensorView{zeros, input.dtype, input.shape});
      if (!status.ok()) return status.error();
    }
    return session->run().error();
  }

  test::AlignedBytes file_;
  std::unique_ptr<uint8_t, FreeBlock> block_;
};

TEST_P(StaticBuffer, TakesNothingFromTheHeap) {
  if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  size_t peak = 0, calls = 0;
  Error error = Error::kOk;
  {
    const test::AllocationCount count;
    error = run_in(kRoom, &peak);
    calls = count.calls();
  }
  EXPECT_EQ(error, Error::kOk);
  EXPECT_EQ(calls, 0u);
}

TEST_P(StaticBuffer, RunsInWhatItTakesAndNotInAStepLess) {
  const size_t bytes = least();
  size_t peak = 0;
  EXPECT_EQ(run_in(bytes, &peak), Error::kOk);
  EXPECT_EQ(peak, bytes);
  EXPECT_EQ(run_in(bytes - kStep, &peak), Error::kOutOfMemory);
}

TEST_P(StaticBuffer, AnySmallerBufferIsRefused) {
  const size_t bytes = least();
  for (size_t less = 0; less < bytes; less += 24) {
    size_t peak = 0;
    ASSERT_EQ(run_in(less, &peak), Error::kOutOfMemory) << less << " of " << bytes;
    ASSERT_LE(peak, less);
  }
}

INSTANTIATE_TEST_SUITE_P(Bundles, StaticBuffer, testing::Values("example", "mixed", "branching"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lazyrt
