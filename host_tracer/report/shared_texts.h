#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "flatbuffers/flatbuffers.h"
#include "host_tracer/support/text_limit.h"

namespace lazyrt {

/// Texts that a file may hold once and a report shows for each of a million users, such as those of
/// sources. They are printed whole as long as there is room, which is more than a real model takes,
/// and are then shortened: so the report grows with the file, not with the number of users times
/// the length.
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
