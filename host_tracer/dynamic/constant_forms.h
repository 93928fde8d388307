#pragma once

// The form of a constant, besides its content: for constants that vary with sizes.

#include <cstdint>
#include <optional>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// Attributes of a Full that makes the constant; nothing if its elements are not all equal.
std::optional<fb::FullT> full_of(const Value& v);

/// Element i in row-major order, as a constant [1].
Value element_of(const Value& v, int64_t i);

/// Whether `part` equals the elements of `whole` from `starts` on.
bool is_part(const Value& part, const Value& whole, const std::vector<int64_t>& starts);

/// c and, for each dim, the step of a constant of integers that is c + step * index + ...; nothing
/// for others.
std::optional<std::vector<int64_t>> ramp_of(const Value& v);

/// One constant at several sizes, the largest last.
using SizedConstant = std::vector<const Value*>;

/// Whether its type, shape or content differs at some size.
bool varies(const SizedConstant& constant);

/// Parts of the largest one.
struct SliceForm {
  std::vector<int> varying;  ///< dims
  /// Per dim: the part ends at the last element, else it begins at the first.
  std::vector<bool> at_end;
};

std::optional<SliceForm> slice_of_largest(const SizedConstant& constant);

/// Whether it is a number at every size, a part of the largest one, or a ramp. A float64 number
/// that was rounded to float32 on the way is none of these: its cast has to stay.
bool has_form(const SizedConstant& constant);

/// Where `part` begins in `whole`, by dim.
std::vector<int64_t> starts_of(const Value& part, const Value& whole,
                               const std::vector<bool>& at_end);

/// Whether all of a constant's slices along `dim` are equal.
bool is_repeated(const Value& v, int dim);

/// The first of equal slices along `dim`.
Value first_slice(const Value& v, int dim);

}  // namespace lazyrt
