#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/report/bundle_info.h"

namespace lazyrt {

struct ModuleCost {
  std::string module;  ///< path up to its first number, else three parts of it
  size_t nodes = 0;
  uint64_t constant_bytes = 0;  ///< a constant counts for the module that reads it first
  uint64_t flops = 0;
};

/// The method's nodes grouped by module, in order of first execution.
std::vector<ModuleCost> module_costs(const MethodInfo& method);

}  // namespace lazyrt
