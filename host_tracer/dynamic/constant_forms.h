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

/// Element i in row-major order, as a constant [1].
Value element_of(const Value& v, int64_t i);

/// Whether `part` is what `whole` has from `starts` on.
bool is_part(const Value& part, const Value& whole, const std::vector<int64_t>& starts);

/// c, and by dim the step of a constant of whole numbers that is c + step * index + ...; nothing of
/// others.
std::optional<std::vector<int64_t>> ramp_of(const Value& v);

/// One constant at several sizes, the largest last.
using SizedConstant = std::vector<const Value*>;

/// Whether its type, shape or content is another at some size.
bool varies(const SizedConstant& constant);

/// Parts of the largest one.
struct SliceForm {
  std::vector<int> varying;  ///< dims
  std::vector<bool> at_end;  ///< by dim: up to the last element, else from the first on
};

std::optional<SliceForm> slice_of_largest(const SizedConstant& constant);

/// Whether it is a number everywhere, a part of the largest one, or a ramp. A number of float64
/// that was rounded to float32 on the way is none: its cast has to stay.
bool has_form(const SizedConstant& constant);

/// Where `part` begins in `whole`, by dim.
std::vector<int64_t> starts_of(const Value& part, const Value& whole,
                               const std::vector<bool>& at_end);

/// Whether all of a constant's slices along `dim` are equal.
bool is_repeated(const Value& v, int dim);

/// The first of equal slices along `dim`.
Value first_slice(const Value& v, int dim);

}  // namespace lazyrt
