#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "flatbuffers/flatbuffers.h"
#include "host_tracer/support/text_limit.h"

namespace lazyrt {

/// Texts that a file may have once and a report shows for each of a million users, such as those of
/// sources. They are given whole as long as there is room, which is more than a real model takes,
/// and then shortened: what is made of them grows with the file, not with users times length.
class SharedTexts {
 public:
  std::string take(std::string_view text) {
    std::string shown = shortened(text, std::max(room_, kLeast));
    room_ -= std::min(room_, shown.size());
    return shown;
  }
  std::string take(const flatbuffers::String* text) {
    return text == nullptr ? std::string() : take(std::string_view(text->c_str(), text->size()));
  }

 private:
  static constexpr size_t kLeast = 100;
  size_t room_ = size_t{32} << 20;
};

}  // namespace lazyrt
