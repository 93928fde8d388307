#pragma once

// A comparison for people and for programs.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host_tracer/check/compare_nodes.h"

namespace lazyrt {

/// A line for each value: its node and name, what it is compared with, its error.
std::string compare_table(const NodeComparison& comparison);
/// "the first value that differs: node 3, ...", or that none does, and which values were not
/// compared.
std::string compare_verdict(const NodeComparison& comparison);
nlohmann::ordered_json compare_json(const NodeComparison& comparison);

/// Something differs, or the run failed.
bool is_difference(const NodeComparison& comparison);

}  // namespace lazyrt
