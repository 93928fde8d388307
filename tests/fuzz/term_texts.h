#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lazyrt::fuzz {

/// Makes terms and a patch of the bytes, whatever they are, and asks for their texts. What is wrong
/// with these: too long, or another than the terms say; "" if nothing is.
std::string wrong_term_text(const uint8_t* data, size_t size);

}  // namespace lazyrt::fuzz
