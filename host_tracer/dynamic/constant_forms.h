#pragma once

// What a constant looks like, beside what it holds: for constants that vary with sizes.

#include <cstdint>
#include <optional>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// Attributes of a Full that makes the constant; nothing where its elements are not all the same.
std::optional<fb::FullT> full_of(const Value& v);

/// Whether `part` is what `whole` has from `starts` on.
bool is_part(const Value& part, const Value& whole, const std::vector<int64_t>& starts);

/// c, and by dim the step of an i64 constant that is c + step * index + ...; nothing of others.
std::optional<std::vector<int64_t>> ramp_of(const Value& v);

/// Whether all of a constant's slices along `dim` are equal.
bool is_repeated(const Value& v, int dim);

/// The first of equal slices along `dim`.
Value first_slice(const Value& v, int dim);

}  // namespace lazyrt
