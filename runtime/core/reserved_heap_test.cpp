#include "runtime/core/reserved_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace lazyrt {
namespace {

class Heap : public testing::Test {
 protected:
  void make(size_t bytes) {
    block_.resize(bytes + ReservedHeap::kUnit);
    auto* begin = block_.data();
    while (reinterpret_cast<uintptr_t>(begin) % ReservedHeap::kUnit != 0) ++begin;
    heap_.use(begin, bytes);
  }

  std::vector<char> block_;
  ReservedHeap heap_;
};

TEST_F(Heap, ThatIsTooSmallGivesNothing) {
  EXPECT_EQ(heap_.allocate(1), nullptr);
  make(100);
  EXPECT_EQ(heap_.allocate(1), nullptr);
}

TEST_F(Heap, PiecesAreApartAndAllComesBack) {
  make(1 << 20);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::map<char*, size_t> pieces;
    for (int i = 0; i < 3000; ++i) {
      if (random() % 3 != 0 || pieces.empty()) {
        const size_t bytes = random() % (random() % 8 == 0 ? 40000 : 300);
        auto* piece = static_cast<char*>(heap_.allocate(bytes));
        if (piece == nullptr) continue;
        ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % ReservedHeap::kUnit, 0u);
        ASSERT_TRUE(heap_.holds(piece));
        const auto above = pieces.upper_bound(piece);
        ASSERT_TRUE(above == pieces.end() || piece + bytes <= above->first);
        ASSERT_TRUE(above == pieces.begin() ||
                    std::prev(above)->first + std::prev(above)->second <= piece);
        std::memset(piece, i, bytes);
        pieces[piece] = bytes;
      } else {
        const auto one = std::next(pieces.begin(), random() % pieces.size());
        heap_.release(one->first);
        pieces.erase(one);
      }
    }
    for (const auto& [piece, bytes] : pieces) heap_.release(piece);
    void* whole = heap_.allocate((1 << 20) - 3 * ReservedHeap::kUnit);
    ASSERT_NE(whole, nullptr) << "all pieces were joined";
    heap_.release(whole);
  }
}

}  // namespace
}  // namespace lazyrt
