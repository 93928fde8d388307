#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lazyrt {

/// The places in memory, in elements, of the elements of a strided tensor in row-major order.
/// REQUIRES: as many strides as sizes.
inline std::vector<int64_t> strided_places(const std::vector<int64_t>& sizes,
                                           const std::vector<int64_t>& strides, int64_t offset) {
  std::vector<int64_t> places = {offset};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(places.size() * static_cast<size_t>(sizes[d]));
    for (const int64_t place : places) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(place + i * strides[d]);
    }
    places = std::move(next);
  }
  return places;
}

}  // namespace lazyrt
