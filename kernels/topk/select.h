#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lazyrt {
namespace top_k {

/// Puts the middle one of three elements into `result`, and the old content of `result` into its
/// place.
template <class T, class Precedes>
void put_median(T* result, T* a, T* b, T* c, const Precedes& precedes) {
  T* const low = precedes(*a, *b) ? a : b;
  T* const high = precedes(*a, *b) ? b : a;
  const bool above_low = precedes(*low, *c), above_high = precedes(*high, *c);
  std::swap(*result, !above_low ? *low : above_high ? *high : *c);
}

/// Partitions: what precedes *first comes before the returned position, everything else after it.
template <class T, class Precedes>
T* partition(T* first, T* last, const Precedes& precedes) {
  put_median(first, first + 1, first + (last - first) / 2, last - 1, precedes);
  T* low = first + 1;
  T* high = last;
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
template <class T, class Precedes>
void select(T* first, T* last, int64_t n, const Precedes& precedes) {
  T* const place = first + n;
  int halvings = 0;
  for (int64_t size = last - first; size > 1; size /= 2) halvings += 2;
  for (; last - first > 3; --halvings) {
    if (halvings == 0) return std::nth_element(first, place, last, precedes);
    T* const cut = partition(first, last, precedes);
    (cut <= place ? first : last) = cut;
  }
  for (T* next = first; next < last; ++next) {
    std::rotate(std::upper_bound(first, next, *next, precedes), next, next + 1);
  }
}

}  // namespace top_k
}  // namespace lazyrt
