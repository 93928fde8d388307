#pragma once

#include <cstdio>
#include <string>

namespace lazyrt {

/// "0.731", "3.0", "1e-05", "inf": as Python prints it, shortened to so many digits.
inline std::string decimal_text(double value, int digits) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
  std::string text = buffer;
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace lazyrt
