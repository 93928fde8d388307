#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "lazyrt/error.h"
#include "lazyrt/span.h"

namespace lazyrt {

constexpr int kMaxRank = 8;

/// Computes *product = a * b; returns true if it does not fit into 64 bits. Inline only on 64-bit
/// machines: others need 100 bytes of code for it. REQUIRES: neither is negative.
#if UINTPTR_MAX > UINT32_MAX
template <class T>
constexpr bool product_overflows(T a, T b, T* product) {
  return __builtin_mul_overflow(a, b, product);
}
#else
bool product_overflows(uint64_t a, uint64_t b, uint64_t* product);
inline bool product_overflows(int64_t a, int64_t b, int64_t* product) {
  uint64_t whole = 0;
  const bool overflows =
      product_overflows(static_cast<uint64_t>(a), static_cast<uint64_t>(b), &whole);
  *product = static_cast<int64_t>(whole);
  return overflows || whole > INT64_MAX;
}
#endif

/// Extents of a tensor, outermost first. Rank 0 is a scalar. Never allocates.
class Shape {
 public:
  Shape() = default;
  /// REQUIRES: at most kMaxRank extents.
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t d : dims) dims_[rank_++] = d;
  }
  /// REQUIRES: at most kMaxRank extents.
  explicit Shape(Span<const int64_t> dims) {
    for (int64_t d : dims) dims_[rank_++] = d;
  }

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  /// Extent counted from the end: back(0) is the innermost. REQUIRES: i < rank().
  int64_t back(int i) const { return dims_[rank_ - 1 - i]; }
  const int64_t* data() const { return dims_; }
  size_t size() const { return static_cast<size_t>(rank_); }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + rank_; }
  /// REQUIRES: rank() < kMaxRank.
  void append(int64_t d) { dims_[rank_++] = d; }

  /// Number of elements. REQUIRES: checked_numel succeeded for this shape.
  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  /// Number of elements; false when an extent is negative or the count overflows int64.
  bool checked_numel(int64_t* out) const {
    int64_t n = 1;
    bool zero = false;
    for (int i = 0; i < rank_; ++i) {
      if (dims_[i] < 0) return false;
      zero = zero || dims_[i] == 0;
      const int64_t d = dims_[i] == 0 ? 1 : dims_[i];
      if (product_overflows(n, d, &n)) return false;
    }
    *out = zero ? 0 : n;
    return true;
  }

  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (dims_[i] != o.dims_[i]) return false;
    }
    return true;
  }
  bool operator!=(const Shape& o) const { return !(*this == o); }

 private:
  int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

/// "[1,3,224,224]", valid until the end of the full expression: pass `shape_text(s).text` to a
/// message. Empty in builds without texts.
#if LAZYRT_MESSAGES
struct ShapeText {
  char text[kMaxRank * 21 + 3];
};
ShapeText shape_text(const Shape& shape);
#else
struct ShapeText {
  const char* text = "";
};
inline ShapeText shape_text(const Shape&) { return {}; }
#endif

/// NumPy broadcast of a and b into *out; false when they do not fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out);

}  // namespace lazyrt
