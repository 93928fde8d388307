#include "runtime/core/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lazyrt {
namespace {

struct Item {
  uint64_t key = 0;
  uint32_t other = 0;
};

TEST(Sort, OrdersAsTheStandardLibraryDoes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (size_t count = 0; count < 130; ++count) {
    for (const uint64_t most : {uint64_t{3}, UINT64_MAX}) {
      std::vector<Item> items(count);
      for (Item& item : items)
        item = {std::uniform_int_distribution<uint64_t>(0, most)(random),
                static_cast<uint32_t>(random() % 4)};
      std::vector<Item> wanted = items;
      const auto before = [](const Item& a, const Item& b) {
        return a.key != b.key ? a.key < b.key : a.other > b.other;
      };
      std::sort(wanted.begin(), wanted.end(), before);
      sort(Span<Item>(items.data(), items.size()), before);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(items[i].key, wanted[i].key);
        ASSERT_EQ(items[i].other, wanted[i].other);
      }
    }
  }
}

TEST(Sort, ComparesFewTimesWhateverTheOrder) {
  constexpr uint32_t kCount = 1 << 12;
  for (const bool ascending : {true, false}) {
    std::vector<uint32_t> items(kCount);
    for (uint32_t i = 0; i < kCount; ++i) items[i] = ascending ? i : kCount - i;
    size_t compared = 0;
    sort(Span<uint32_t>(items.data(), items.size()), [&](uint32_t a, uint32_t b) {
      ++compared;
      return a < b;
    });
    EXPECT_TRUE(std::is_sorted(items.begin(), items.end()));
    EXPECT_LE(compared, size_t{kCount} * 2 * 12);
  }
}

}  // namespace
}  // namespace lazyrt
