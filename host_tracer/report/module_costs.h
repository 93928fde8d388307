#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host_tracer/report/bundle_info.h"

namespace lazyrt {

/// A module of the model with all that is inside of it.
struct ModuleCost {
  std::string name;  ///< last part of the path, or several joined where there is one child only
  size_t nodes = 0;
  uint64_t parameters = 0;      ///< elements of constants; one counts for its first reader
  uint64_t constant_bytes = 0;  ///< the same, in bytes
  uint64_t result_bytes = 0;    ///< what its nodes write
  uint64_t flops = 0;
  std::vector<ModuleCost> children;      ///< in order of first execution
  std::map<std::string, size_t> places;  ///< in `children`, by name until chains are joined
};

/// The method's nodes as the tree of modules that they come from; the root's name is empty.
ModuleCost module_costs(const MethodInfo& method);

}  // namespace lazyrt
