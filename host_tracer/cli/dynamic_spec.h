#pragma once

#include <string>
#include <vector>

#include "host_tracer/compile/dynamic_dims.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// One --dynamic of the command line: `INPUT.DIM=NAME:MIN..MAX`, for multiples of a number
/// `INPUT.DIM=NAME:MIN..MAX/NUMBER`; where another one gives the bounds `INPUT.DIM=NAME`; where the
/// dim follows from another one `INPUT.DIM=2*NAME+1`, with a factor, a number added, or both.
/// kInvalidArgument: the form, bounds that leave no size.
Outcome<DynamicDim> parse_dynamic_spec(const std::string& text);

Outcome<std::vector<DynamicDim>> parse_dynamic_specs(const std::vector<std::string>& texts);

}  // namespace lazyrt
