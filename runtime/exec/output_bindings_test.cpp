// The search tree of bound outputs answers what a look at each of them would.

#include "runtime/exec/output_bindings.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lazyrt {
namespace {

uint8_t* address(size_t i) { return reinterpret_cast<uint8_t*>(uintptr_t{0x10000} + i); }

bool share_a_byte(const OutputBinding& a, const OutputBinding& b) {
  return a.is_bound() && b.is_bound() && a.space == b.space && a.writable != 0 && b.writable != 0 &&
         overlap(a.data, a.writable, b.data, b.writable);
}

class Bindings : public testing::Test {
 protected:
  void make(size_t count) {
    outputs_.make(count, &pool_);
    ASSERT_FALSE(pool_.is_short());
    plain_.resize(count);
  }
  size_t first_overlapped(size_t i, const OutputBinding& binding) const {
    size_t k = 0;
    while (k < plain_.size() && (k == i || !share_a_byte(plain_[k], binding))) ++k;
    return k;
  }
  void set(size_t i, const OutputBinding& binding) {
    outputs_.set(i, binding);
    plain_[i] = binding;
  }

  Pool pool_{platform_allocator()};
  OutputBindings outputs_;
  std::vector<OutputBinding> plain_;
};

TEST_F(Bindings, AreFoundWhereverTheyLie) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  constexpr size_t kOutputs = 40, kRoom = 400;
  make(kOutputs);
  size_t refused = 0, most = 0;
  for (int step = 0; step < 20000; ++step) {
    const size_t i = random() % kOutputs;
    OutputBinding binding;
    if (random() % 8 != 0) {
      const size_t bytes = random() % 16 == 0 ? random() % kRoom : random() % 12;
      binding = {address(random() % kRoom), bytes, static_cast<uint8_t>(random() % 2)};
      const size_t expected = first_overlapped(i, binding);
      const OutputBinding before = plain_[i];
      outputs_.set(i, OutputBinding());
      ASSERT_EQ(outputs_.overlapped(binding), expected) << "step " << step;
      refused += expected == kOutputs ? 0 : 1;
      if (expected != kOutputs) binding = before;
    }
    set(i, binding);
    most = std::max(most, outputs_.count());
    uint8_t* data = address(random() % kRoom);
    const size_t bytes = 1 + random() % 10;
    const OutputBinding looked{data, bytes, kHostSpace};
    ASSERT_EQ(outputs_.overlap(looked), first_overlapped(kOutputs, looked) != kOutputs)
        << "step " << step;
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(most, kOutputs / 2);
}

TEST_F(Bindings, TheFirstOfSeveralIsNamed) {
  make(4);
  set(3, {address(0), 10, kHostSpace});
  set(1, {address(10), 10, kHostSpace});
  set(2, {address(20), 10, kHostSpace});
  EXPECT_EQ(outputs_.overlapped({address(5), 20, kHostSpace}), 1u);
  set(1, {});
  EXPECT_EQ(outputs_.overlapped({address(5), 20, kHostSpace}), 2u);
  EXPECT_EQ(outputs_.overlapped({address(5), 15, kHostSpace}), 3u);
  EXPECT_EQ(outputs_.overlapped({address(30), 20, kHostSpace}), 4u);
}

}  // namespace
}  // namespace lazyrt
