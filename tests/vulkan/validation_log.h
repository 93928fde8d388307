#pragma once

#include <string>

namespace lazyrt::test {

/// Turns on the validation layers, with synchronisation validation, for instances made from now on.
/// False: there are none on this machine.
bool begin_validation();
/// What the layers have said since the last call.
std::string new_validation_messages();

}  // namespace lazyrt::test
