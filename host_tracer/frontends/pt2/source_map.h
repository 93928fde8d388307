#pragma once

#include <string>
#include <unordered_map>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// The place in the user's code that an exported node stems from, by its metadata: the innermost
/// frame outside torch, the innermost module.
Source source_of(const std::string& target,
                 const std::unordered_map<std::string, std::string>& metadata);

}  // namespace lazyrt
