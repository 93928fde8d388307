// A run allocates nothing: not on the calling thread, not on the workers.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "lazyrt/runtime.h"
#include "tests/stress/counting_malloc.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;

struct Inputs {
  alignas(64) float image[12 * 12 * 3 + 16];
  alignas(64) int64_t ids[16] = {1, 9, 0, 3, 3};
  Inputs() {
    const std::vector<float> values = test::random_floats(12 * 12 * 3, 5);
    std::copy(values.begin(), values.end(), image);
  }
  TensorView image_view() { return {image, DType::kFloat32, {1, 12, 12, 3}}; }
  TensorView ids_view() { return {ids, DType::kInt64, {1, 5}}; }
};

struct How {
  const Backend* backend;
  int threads;
};

class NoHeap : public testing::TestWithParam<How> {
 protected:
  void SetUp() override {
    if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  }

  /// A session of the first method of `parts`, as the parameter says. Its program stays loaded for
  /// the rest of the test.
  Result<Session> make_session(const BundleParts& parts) {
    loaded_.emplace(parts, default_ops());
    if (!loaded_->program.ok()) return loaded_->program.status();
    SessionOptions options;
    options.backend = GetParam().backend;
    options.threads = GetParam().threads;
    return Session::create(loaded_->method(), options);
  }

  std::optional<test::Loaded> loaded_;
};

TEST_P(NoHeap, RunsAllocateNothing) {
  Result<Session> session = make_session(test::mixed_bundle(default_ops()));
  ASSERT_TRUE(session.ok()) << session.status().message();
  Inputs a;
  Inputs b;
  alignas(64) float result[16] = {};
  ASSERT_TRUE(session->set_input(0, a.image_view()).ok());
  ASSERT_TRUE(session->set_input(1, a.ids_view()).ok());
  Status status;
  size_t calls = 0;
  {
    const test::AllocationCount count;
    for (int i = 0; i < 3; ++i) {
      status = session->run();
      if (!status.ok()) break;
    }
    // Zero-copy from one buffer and from another: kernels are set up anew, without memory.
    for (Inputs* in : {&a, &b, &a}) {
      if (!session->bind_input(0, in->image_view(), sizeof(in->image)).ok()) break;
      if (!session->bind_input(1, in->ids_view(), sizeof(in->ids)).ok()) break;
      if (status.ok()) status = session->run();
    }
    for (void* to : {static_cast<void*>(result), static_cast<void*>(nullptr)}) {
      if (status.ok()) status = session->bind_output(0, to, sizeof(result));
      if (status.ok()) status = session->run();
    }
    calls = count.calls();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(calls, 0u);
  EXPECT_TRUE(session->output(0).ok());
}

TEST_P(NoHeap, RunsWithGuardsStatesAndVariantsAllocateNothing) {
  Result<Session> session = make_session(test::branching_bundle());
  ASSERT_TRUE(session.ok()) << session.status().message();
  const Method method = loaded_->method();
  Status status;
  size_t calls = 0;
  bool all_ran = true;
  {
    const test::AllocationCount count;
    for (int round = 0; round < 3; ++round) {
      for (size_t s = 0; s < method.sample_count() && status.ok(); ++s) {
        status = session->set_input(0, method.sample_input(s, 0));
        if (status.ok()) status = session->run();
        all_ran = all_ran && *session->variant() == s;
      }
      if (status.ok()) status = session->reset_state();
    }
    calls = count.calls();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(all_ran);
  EXPECT_EQ(calls, 0u);
}

TEST_P(NoHeap, RunsAtTheShapesOfTheLastOneAllocateNothing) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2, 8});
  const std::vector<float> w = test::random_floats(64, 1);
  b.output("y", b.infer(default_ops(), fb::LinearT(),
                        {x, b.constant("w", DType::kFloat32, {8, 8}, w.data())}));
  b.method().symbols.push_back(std::make_unique<fb::SymbolT>());
  b.method().symbols[0]->name = "batch";
  b.method().symbols[0]->max = 16;
  b.method().values[0]->symbols = {0, -1};
  Result<Session> session = make_session(parts);
  ASSERT_TRUE(session.ok()) << session.status().message();
  alignas(64) float data[16 * 8 + 16] = {};
  for (int64_t batch : {2, 16, 3}) {
    const TensorView view = {data, DType::kFloat32, {batch, 8}};
    Status status = session->set_input(0, view);
    if (status.ok()) status = session->run();
    size_t calls = 0;
    {
      const test::AllocationCount count;
      for (int i = 0; i < 3; ++i) {
        if (status.ok()) status = session->set_input(0, view);
        if (status.ok()) status = session->run();
        if (status.ok()) status = session->set_input(0, data, static_cast<size_t>(batch) * 32);
        if (status.ok()) status = session->bind_input(0, view, sizeof(data));
        if (status.ok()) status = session->run();
      }
      calls = count.calls();
    }
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(calls, 0u) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NoHeap,
                         testing::Values(How{reference_backend(), 1}, How{cpu_backend(), 1},
                                         How{cpu_backend(), 2}, How{cpu_backend(), 4}),
                         [](const auto& param) {
                           return std::string(param.param.backend == cpu_backend() ? "cpu"
                                                                                   : "reference") +
                                  std::to_string(param.param.threads);
                         });

TEST(AllocationCount, SeesEveryKindOnEveryThread) {
  if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  void* volatile kept = nullptr;
  size_t calls = 0;
  std::thread worker;
  {
    const test::AllocationCount count;
    kept = std::malloc(10);
    std::free(kept);
    kept = std::aligned_alloc(64, 64);
    std::free(kept);
    void* pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages, 4096);
    EXPECT_EQ(count.calls(), 3u);
    worker = std::thread([&] {
      kept = new int[4];
      delete[] static_cast<int*>(kept);
    });
    worker.join();
    calls = count.calls();
  }
  EXPECT_GE(calls, 4u);
}

}  // namespace
}  // namespace lazyrt
