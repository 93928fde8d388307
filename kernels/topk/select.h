#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lazyrt {
namespace top_k {

/// Puts the middle one of three elements into `result`, and the old content of `result` into its
/// place.
template <class Precedes>
void put_median(int64_t* result, int64_t* a, int64_t* b, int64_t* c, const Precedes& precedes) {
  int64_t* const low = precedes(*a, *b) ? a : b;
  int64_t* const high = precedes(*a, *b) ? b : a;
  const bool above_low = precedes(*low, *c), above_high = precedes(*high, *c);
  std::swap(*result, !above_low ? *low : above_high ? *high : *c);
}

/// Partitions: what precedes *first comes before the returned position, everything else after it.
template <class Precedes>
int64_t* partition(int64_t* first, int64_t* last, const Precedes& precedes) {
  put_median(first, first + 1, first + (last - first) / 2, last - 1, precedes);
  int64_t* low = first + 1;
  int64_t* high = last;
  for (;; ++low) {
    while (precedes(*low, *first)) ++low;
    do --high;
    while (precedes(*first, *high));
    if (low >= high) return low;
    std::swap(*low, *high);
  }
}

/// Rearranges a list of distinct elements so that the n-th (from 0) is the one of that place in
/// their order, with those that precede it before it: D. R. Musser's introselect, "Introspective
/// Sorting and Selection Algorithms" (1997), with the pivots and the end that libstdc++'s
/// nth_element has, so that the order of the others is that one's with every C++ library. (Only
/// where the pivots are so bad that the halvings run out, the library's own goes on.)
template <class Precedes>
void select(int64_t* first, int64_t* last, int64_t n, const Precedes& precedes) {
  int64_t* const place = first + n;
  int halvings = 0;
  for (int64_t size = last - first; size > 1; size /= 2) halvings += 2;
  for (; last - first > 3; --halvings) {
    if (halvings == 0) return std::nth_element(first, place, last, precedes);
    int64_t* const cut = partition(first, last, precedes);
    (cut <= place ? first : last) = cut;
  }
  for (int64_t* next = first; next < last; ++next) {
    std::rotate(std::upper_bound(first, next, *next, precedes), next, next + 1);
  }
}

}  // namespace top_k
}  // namespace lazyrt
