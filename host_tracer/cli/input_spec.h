#pragma once

#include <string>
#include <vector>

#include "host_tracer/frontends/pt2/pt2.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// One --input of the command line: `NAME=FILE.npy` (the file's data) or `NAME=SHAPE:DTYPE`, e.g.
/// `x=1,3,224,224:f32`, without data (`x=:f32` is a scalar).
/// kInvalidArgument: the form, the dtype; kNotFound, kIo: the file.
Outcome<Pt2Input> parse_input_spec(const std::string& text);

/// All of them; names must differ.
Outcome<std::vector<Pt2Input>> parse_input_specs(const std::vector<std::string>& texts);

}  // namespace lazyrt
