#include "lazyrt/static_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace lazyrt {
namespace {

bool is_aligned(const void* p, size_t alignment) {
  return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

struct Sizes {
  static constexpr size_t kBufferBytes = 100;
};

TEST(StaticMemory, GivesAlignedPiecesWithinTheBuffer) {
  alignas(64) uint8_t buffer[4096];
  StaticMemory memory(Sizes(), buffer);
  const AllocatorHooks hooks = memory.hooks();
  for (const size_t alignment : {1, 8, 16, 64, 256}) {
    auto* p = static_cast<uint8_t*>(hooks.allocate(hooks.context, 33, alignment));
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_aligned(p, alignment));
    EXPECT_GE(p, buffer);
    EXPECT_LE(p + 33, buffer + sizeof(buffer));
  }
}

TEST(StaticMemory, UsesAgainWhatIsFreeOnTop) {
  alignas(64) uint8_t buffer[1024];
  StaticMemory memory(buffer, sizeof(buffer));
  const AllocatorHooks hooks = memory.hooks();
  const auto take = [&] { return hooks.allocate(hooks.context, 100, 16); };
  void* a = take();
  const size_t one = memory.used();
  void* b = take();
  void* c = take();
  const size_t three = memory.used();
  hooks.release(hooks.context, b);
  EXPECT_EQ(memory.used(), three) << "c is above it";
  hooks.release(hooks.context, c);
  EXPECT_EQ(memory.used(), one);
  hooks.release(hooks.context, nullptr);
  hooks.release(hooks.context, a);
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_EQ(memory.peak(), three);
}

TEST(StaticMemory, RefusesWhatDoesNotFit) {
  alignas(64) uint8_t buffer[256];
  for (size_t bytes = 0; bytes <= sizeof(buffer); ++bytes) {
    StaticMemory memory(buffer, bytes);
    const AllocatorHooks hooks = memory.hooks();
    EXPECT_EQ(hooks.allocate(hooks.context, SIZE_MAX, 64), nullptr);
    EXPECT_EQ(hooks.allocate(hooks.context, SIZE_MAX / 2, 1), nullptr);
    void* p = hooks.allocate(hooks.context, 64, 64);
    EXPECT_EQ(p != nullptr, bytes >= 128) << bytes;
    EXPECT_EQ(memory.used(), p == nullptr ? 0u : 128u);
  }
}

TEST(StaticMemory, PiecesNeverOverlap) {
  alignas(64) static uint8_t buffer[1 << 16];
  StaticMemory memory(buffer + 3, sizeof(buffer) - 3);
  const AllocatorHooks hooks = memory.hooks();
  std::mt19937 random(7);
  struct Piece {
    uint8_t* data;
    size_t bytes;
    uint8_t mark;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0 || pieces.empty()) {
      const size_t bytes = random() % 900;
      auto* p =
          static_cast<uint8_t*>(hooks.allocate(hooks.context, bytes, size_t{1} << random() % 8));
      if (p == nullptr) continue;
      pieces.push_back({p, bytes, static_cast<uint8_t>(random())});
      std::memset(p, pieces.back().mark, bytes);
      continue;
    }
    const size_t at = random() % pieces.size();
    for (size_t k = 0; k < pieces[at].bytes; ++k) ASSERT_EQ(pieces[at].data[k], pieces[at].mark);
    hooks.release(hooks.context, pieces[at].data);
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const Piece& piece : pieces) hooks.release(hooks.context, piece.data);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace lazyrt
