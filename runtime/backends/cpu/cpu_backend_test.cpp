#include "runtime/backends/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/backend/backend.h"

namespace lazyrt {
namespace {

const Allocator kHeap = {nullptr,
                         [](void*, size_t bytes, size_t alignment) {
                           return std::aligned_alloc(
                               alignment, (bytes + alignment - 1) / alignment * alignment);
                         },
                         [](void*, void* pointer) { std::free(pointer); }};

/// A cpu session's services on a given store.
class Services {
 public:
  Services(int threads, void* weights) {
    const Status status = cpu_backend()->open({threads, kHeap, nullptr, weights}, &services_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~Services() { cpu_backend()->close(services_, kHeap); }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  CpuServices& get() const { return *static_cast<CpuServices*>(services_); }

 private:
  void* services_ = nullptr;
};

/// A linear layer y = x w^T + b by the cpu kernel.
class Linear {
 public:
  static constexpr int64_t kRows = 5, kIn = 37, kOut = 70;

  Linear(const Services& services, const std::vector<float>& w, const std::vector<float>& b)
      : services_(services) {
    builder_.Finish(fb::CreateLinear(builder_));
    attrs_ = {fb::OpAttrs::Linear, flatbuffers::GetRoot<fb::Linear>(builder_.GetBufferPointer())};
    inputs_[0] = {DType::kFloat32, Shape{kRows, kIn}, nullptr};
    inputs_[1] = {DType::kFloat32, Shape{kOut, kIn}, w.data()};
    inputs_[2] = {DType::kFloat32, Shape{kOut}, b.data()};
    output_ = {DType::kFloat32, Shape{kRows, kOut}, nullptr};
    const NodeSpec node = {attrs_, inputs_, Span<const TensorSpec>(&output_, 1)};
    Fault why;
    kernel_ = cpu_backend()->select(*default_ops().find(attrs_), node, &why);
    EXPECT_NE(kernel_, nullptr) << why.message();
    const Status status = kernel_->prepare({node, kHeap, &services.get()}, &prepared_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~Linear() { kernel_->release(prepared_.state, kHeap); }
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  size_t packed_bytes() const { return prepared_.packed_weight_bytes; }

  std::vector<float> run(std::vector<float> x) const {
    x.resize(x.size() + kTailBytes / sizeof(float));
    std::vector<float> y(kRows * kOut);
    const TensorView in[] = {
        {x.data(), DType::kFloat32, Shape{kRows, kIn}}, view(inputs_[1]), view(inputs_[2])};
    const TensorView out = {y.data(), DType::kFloat32, Shape{kRows, kOut}};
    const Status status = kernel_->run(
        prepared_.state,
        {attrs_, in, Span<const TensorView>(&out, 1), nullptr, &services_.get(), true});
    EXPECT_TRUE(status.ok()) << status.message();
    return y;
  }

 private:
  static TensorView view(const TensorSpec& s) {
    return {const_cast<void*>(s.constant), s.dtype, s.shape};
  }

  const Services& services_;
  flatbuffers::FlatBufferBuilder builder_;
  OpAttrs attrs_;
  TensorSpec inputs_[3];
  TensorSpec output_;
  const Kernel* kernel_ = nullptr;
  PreparedKernel prepared_;
};

std::vector<float> ramp(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * static_cast<float>(static_cast<int>(i % 17) - 8);
  return v;
}

const std::vector<float>& weights() {
  static const std::vector<float> w = ramp(Linear::kOut * Linear::kIn, 0.1f);
  return w;
}
const std::vector<float>& bias() {
  static const std::vector<float> b = ramp(Linear::kOut, 0.5f);
  return b;
}

/// The store of a Program, as a session gets it.
struct Store {
  Store() { EXPECT_TRUE(cpu_backend()->open_weights({kHeap, 1 << 20}, &weights).ok()); }
  ~Store() { cpu_backend()->close_weights(weights); }
  void* weights = nullptr;
};

TEST(CpuBackend, SessionsOfOneProgramPackOnce) {
  const Store store;
  const Services a(1, store.weights), b(2, store.weights);
  const Linear first(a, weights(), bias()), second(b, weights(), bias());
  EXPECT_GT(first.packed_bytes(), Linear::kOut * Linear::kIn * sizeof(float));
  EXPECT_EQ(second.packed_bytes(), 0u);
  const std::vector<float> x = ramp(Linear::kRows * Linear::kIn, 1.0f);
  EXPECT_EQ(first.run(x), second.run(x));
}

TEST(CpuBackend, TiedWeightsPackOnce) {
  const Services services(1, nullptr);
  const Linear first(services, weights(), bias()), tied(services, weights(), bias());
  EXPECT_GT(first.packed_bytes(), 0u);
  EXPECT_EQ(tied.packed_bytes(), 0u);
}

TEST(CpuBackend, PackedWeightsOutliveTheSessionThatPackedThem) {
  const Store store;
  const Services b(1, store.weights);
  auto a = std::make_unique<Services>(1, store.weights);
  auto first = std::make_unique<Linear>(*a, weights(), bias());
  const Linear second(b, weights(), bias());
  const std::vector<float> x = ramp(Linear::kRows * Linear::kIn, 1.0f);
  const std::vector<float> expected = first->run(x);
  first.reset();
  a.reset();
  EXPECT_EQ(second.run(x), expected);
}

TEST(CpuBackend, SessionsOnTwoThreads) {
  const Store store;
  const std::vector<float> x = ramp(Linear::kRows * Linear::kIn, 1.0f);
  std::vector<float> results[2];
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&store, &result, &x] {
      const Services services(1, store.weights);
      const Linear linear(services, weights(), bias());
      for (int i = 0; i < 20; ++i) result = linear.run(x);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(results[0], results[1]);
}

TEST(CpuBackend, MakesAPoolOnlyForSeveralThreads) {
  const Services one(1, nullptr), three(3, nullptr);
  EXPECT_EQ(one.get().pool, nullptr);
  ASSERT_NE(three.get().pool, nullptr);
  EXPECT_EQ(pool_threads(three.get().pool), 3u);
}

TEST(ParallelFor, CoversEachItemOnce) {
  for (int threads : {1, 2, 5}) {
    const Services services(threads, nullptr);
    for (size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{63}, size_t{1000}}) {
      for (size_t grain : {size_t{0}, size_t{1}, size_t{7}, size_t{5000}}) {
        std::vector<std::atomic<int>> visits(n);
        parallel_for(services.get(), n, grain, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) ++visits[i];
        });
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(visits[i], 1) << threads << " threads, item " << i;
      }
    }
  }
}

TEST(CpuBackend, SaysWhichOpHasNoCpuKernel) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::CreateFlip(builder));
  const OpAttrs attrs = {fb::OpAttrs::Flip,
                         flatbuffers::GetRoot<fb::Flip>(builder.GetBufferPointer())};
  Fault why;
  EXPECT_EQ(cpu_backend()->select(*default_ops().find(attrs), {attrs, {}, {}}, &why), nullptr);
  EXPECT_EQ(why.error(), Error::kUnsupported);
  EXPECT_STREQ(why.message(), "flip has no cpu kernel");
}

}  // namespace
}  // namespace lazyrt
