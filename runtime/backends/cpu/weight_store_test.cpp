#include "runtime/backends/cpu/weight_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace lazyrt {
namespace {

struct StoreDeleter {
  void operator()(WeightStore* store) const { WeightStore::destroy(store); }
};
using StorePtr = std::unique_ptr<WeightStore, StoreDeleter>;

WeightStore* make_store() { return WeightStore::create(platform_allocator(), 1 << 20); }

const PackingTag kTag = {Packer::kXnnConvolution};
const char kKernel = 0, kOtherKernel = 0;

TEST(WeightStore, OwnBlocksAreZeroAndFoundAgain) {
  const StorePtr store(make_store());
  WeightStore::Packing packing(store.get(), kTag, 0, nullptr);
  EXPECT_EQ(packing.find(&kKernel, nullptr, 33), nullptr);
  auto* block = static_cast<char*>(packing.insert(&kKernel, nullptr, 33));
  ASSERT_NE(block, nullptr);
  for (int i = 0; i < 33; ++i) EXPECT_EQ(block[i], 0);
  EXPECT_EQ(packing.find(&kKernel, nullptr, 33), block);
  EXPECT_EQ(packing.find(&kOtherKernel, nullptr, 33), nullptr);
  EXPECT_EQ(packing.new_bytes(), 33u);
}

TEST(WeightStore, FindsLookAtFewBlocksHoweverManyThereAre) {
  const StorePtr store(make_store());
  constexpr int64_t kStrides = 50000;
  for (int64_t i = 0; i < kStrides; ++i) {
    WeightStore::Packing packing(store.get(), PackingTag(kTag).add(i), 0, nullptr);
    ASSERT_EQ(packing.find(&kKernel, nullptr, 8), nullptr);
    ASSERT_NE(packing.insert(&kKernel, nullptr, 8), nullptr);
  }
  EXPECT_LT(store->probes(), 2 * kStrides);
}

#if LAZYRT_HAS_XNNPACK

const char kBias = 0;

/// What XNNPACK does when it creates an operator; returns the address of the packed weights.
void* pack(WeightStore* store, const PackingTag& tag, uint32_t seed, const void* kernel,
           const void* bias, size_t bytes, size_t* new_bytes) {
  WeightStore::Packing packing(store, tag, 0, nullptr);
  xnn_weights_cache_t cache = packing.cache();
  const xnn_weights_cache_look_up_key key = {seed, kernel, bias};
  size_t offset = cache->look_up(cache->context, &key);
  if (offset == SIZE_MAX) {
    void* memory = cache->reserve_space(cache->context, bytes);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 7, bytes);
    offset = cache->look_up_or_insert(cache->context, &key, memory, bytes);
  }
  *new_bytes = packing.new_bytes();
  return cache->offset_to_addr(cache->context, offset);
}

TEST(WeightStore, FindsWhatWasPackedBefore) {
  const StorePtr store(make_store());
  size_t first_bytes = 0, second_bytes = 1;
  void* first = pack(store.get(), kTag, 5, &kKernel, &kBias, 100, &first_bytes);
  void* second = pack(store.get(), kTag, 5, &kKernel, &kBias, 100, &second_bytes);
  EXPECT_EQ(first, second);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(first_bytes, 100u);
  EXPECT_EQ(second_bytes, 0u);
  EXPECT_EQ(store->bytes(), 100u);
}

TEST(WeightStore, EveryPartOfTheKeyCounts) {
  const StorePtr store(make_store());
  size_t bytes = 0;
  PackingTag shaped = kTag;
  shaped.add(Shape{3, 4});
  PackingTag turned = kTag;
  turned.add(Shape{4, 3});
  const void* all[] = {
      pack(store.get(), kTag, 5, &kKernel, &kBias, 8, &bytes),
      pack(store.get(), {Packer::kXnnDeconvolution}, 5, &kKernel, &kBias, 8, &bytes),
      pack(store.get(), kTag, 6, &kKernel, &kBias, 8, &bytes),
      pack(store.get(), kTag, 5, &kOtherKernel, &kBias, 8, &bytes),
      pack(store.get(), kTag, 5, &kKernel, nullptr, 8, &bytes),
      pack(store.get(), shaped, 5, &kKernel, &kBias, 8, &bytes),
      pack(store.get(), turned, 5, &kKernel, &kBias, 8, &bytes),
  };
  for (const void* a : all) {
    EXPECT_EQ(std::count(std::begin(all), std::end(all), a), 1);
  }
  EXPECT_EQ(store->bytes(), 56u);
}

TEST(WeightStore, NothingMoves) {
  const StorePtr store(make_store());
  size_t bytes = 0;
  void* first = pack(store.get(), kTag, 0, &kKernel, nullptr, 64, &bytes);
  for (uint32_t seed = 1; seed < 2000; ++seed) {
    ASSERT_NE(pack(store.get(), kTag, seed, &kKernel, nullptr, 64, &bytes), nullptr);
  }
  EXPECT_EQ(pack(store.get(), kTag, 0, &kKernel, nullptr, 64, &bytes), first);
  EXPECT_EQ(static_cast<const char*>(first)[63], 7);
}

TEST(WeightStore, SpaceThatWasNotInsertedIsGivenBack) {
  const StorePtr store(make_store());
  {
    WeightStore::Packing packing(store.get(), kTag, 0, nullptr);
    ASSERT_NE(packing.cache()->reserve_space(packing.cache()->context, 1000), nullptr);
    EXPECT_EQ(packing.new_bytes(), 0u);
  }
  EXPECT_EQ(store->bytes(), 0u);
}

TEST(WeightStore, OwnBlocksAndXnnpacksAreNeverTakenForEachOther) {
  const StorePtr store(make_store());
  size_t bytes = 0;
  void* own = nullptr;
  {
    WeightStore::Packing packing(store.get(), {Packer::kRecurrent}, 0, nullptr);
    own = packing.insert(&kKernel, nullptr, 100);
  }
  // XNNPACK's seed can be 0, which is what a block of our own has.
  void* other = pack(store.get(), {Packer::kXnnFullyConnected}, 0, &kKernel, nullptr, 400, &bytes);
  EXPECT_NE(own, other);
  EXPECT_EQ(bytes, 400u);
  const WeightStore::Packing packing(store.get(), {Packer::kRecurrent}, 0, nullptr);
  EXPECT_EQ(packing.find(&kKernel, nullptr, 100), own);
}

TEST(WeightStore, ABlockOfAnotherSizeIsNotFound) {
  const StorePtr store(make_store());
  size_t bytes = 0;
  void* small = pack(store.get(), kTag, 5, &kKernel, nullptr, 100, &bytes);
  const xnn_weights_cache_look_up_key key = {5, &kKernel, nullptr};
  {
    WeightStore::Packing packing(store.get(), kTag, 100, nullptr);
    const xnn_weights_cache_t cache = packing.cache();
    EXPECT_EQ(cache->look_up(cache->context, &key), reinterpret_cast<size_t>(small));
  }
  WeightStore::Packing packing(store.get(), kTag, 101, nullptr);
  const xnn_weights_cache_t cache = packing.cache();
  EXPECT_EQ(cache->look_up(cache->context, &key), SIZE_MAX);
  EXPECT_EQ(cache->reserve_space(cache->context, 100), nullptr);
  void* large = cache->reserve_space(cache->context, 164);
  EXPECT_EQ(cache->look_up_or_insert(cache->context, &key, large, 164),
            reinterpret_cast<size_t>(large));
  ASSERT_NE(packing.insert(&kKernel, nullptr, 33), nullptr);
  EXPECT_EQ(packing.find(&kKernel, nullptr, 32), nullptr);
  EXPECT_EQ(packing.find(&kKernel, nullptr, 34), nullptr);
}

TEST(WeightStore, ManyThreadsPackOnce) {
  const StorePtr store(make_store());
  constexpr uint32_t kSeeds = 50;
  std::vector<std::vector<void*>> found(4, std::vector<void*>(kSeeds));
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&store, &mine] {
      size_t bytes = 0;
      for (uint32_t seed = 0; seed < kSeeds; ++seed) {
        mine[seed] = pack(store.get(), kTag, seed, &kKernel, nullptr, 128, &bytes);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& other : found) EXPECT_EQ(other, found[0]);
  EXPECT_EQ(store->bytes(), kSeeds * 128u);
}

#endif

}  // namespace
}  // namespace lazyrt
