#pragma once

#include <string>
#include <vector>

#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// One --input of the command line: `NAME=FILE.npy` (the file's data) or `NAME=SHAPE:DTYPE`, e.g.
/// `x=1,3,224,224:f32`, without data (`x=:f32` is a scalar), or `NAME=3`, `=0.5`, `=true`: a Python
/// number.
/// kInvalidArgument: the form, the dtype; kNotFound, kIo: the file.
Outcome<GivenInput> parse_input_spec(const std::string& text);

/// All of them; names must differ.
Outcome<std::vector<GivenInput>> parse_input_specs(const std::vector<std::string>& texts);

/// One --sample: `NAME=VALUE,NAME=VALUE`, values as those of --input.
Outcome<std::vector<GivenInput>> parse_sample_spec(const std::string& text);

/// Returns `common` with the inputs of `sample` added, which replace those of the same name.
std::vector<GivenInput> override_inputs(std::vector<GivenInput> common,
                                        const std::vector<GivenInput>& sample);

}  // namespace lazyrt
