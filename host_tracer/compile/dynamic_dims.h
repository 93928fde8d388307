#pragma once

// What a caller says about dims that vary, and what it means for a sample's inputs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/dynamic/shapes.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A dim of an input that varies: {"input_ids", 1, "seq", 1, 512}, {"x", 2, "height", 160, 288,
/// 32}. It is factor * symbol + offset; bounds and multiple are the symbol's.
struct DynamicDim {
  std::string input;                ///< "x", "h.0", "d.key"
  int64_t dim = 0;                  ///< negative ones count from the end
  std::string symbol;               ///< dims of one symbol have one size
  std::optional<int64_t> min, max;  ///< of a symbol once; without min: 1
  int64_t multiple = 1;             ///< only multiples of it
  int64_t factor = 1, offset = 0;

  /// "input 'x', dim 0"
  std::string place() const { return "input '" + input + "', dim " + std::to_string(dim); }
};

/// Returns the dims without negative numbers. kInvalidArgument names an input or dim that the trace
/// lacks, or a dim that is given twice.
Outcome<std::vector<DynamicDim>> places_in(std::vector<DynamicDim> dims, const Trace& sample);

/// The inputs of a sample other than the first one.
using SampleInputs = std::vector<SampleTensor>;

/// One symbol for each name. Bounds that are given again narrow it, and are rounded to multiples;
/// without an upper bound it goes from its smallest to its largest size in the samples, if these
/// have several. kInvalidArgument names the symbol that has no upper bound or no size, that two
/// dims of a sample disagree on, or whose size in a sample is outside, a dim that a sample has no
/// value of its symbol for, and an input of another sample that differs from the first one's
/// otherwise than in its elements and these dims. REQUIRES: dims as of places_in.
Outcome<DynamicShapes> symbols_of(const std::vector<DynamicDim>& dims, const Trace& sample,
                                  const std::vector<SampleInputs>& more = {});

/// The values of the symbols in the sample. REQUIRES: shapes as of symbols_of.
SizePoint point_of(const DynamicShapes& shapes, const Trace& sample);
SizePoint point_of(const DynamicShapes& shapes, const SampleInputs& inputs);

}  // namespace lazyrt
