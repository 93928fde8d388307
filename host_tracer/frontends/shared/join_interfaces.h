#pragma once

// What calls and results are like, over several captures of one program. Free of LibTorch.

#include <string>

namespace lazyrt {

/// Adds to an interface (see interface.h) what another capture of the program demands of its
/// inputs. Empty ones demand nothing. False, and nothing is added, where arguments or results are
/// nested differently, or are other texts; numbers among the results may differ.
bool join_interfaces(const std::string& other, std::string* interface);

}  // namespace lazyrt
