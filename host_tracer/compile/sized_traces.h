#pragma once

// Captures one program at several sizes: what export_traces needs for dims that vary. Independent
// of the front ends: they provide the capture at given inputs.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host_tracer/compile/dynamic_dims.h"
#include "host_tracer/compile/exporter.h"

namespace lazyrt {

/// Traces in the order of ExportOptions::dynamic: the sample's, those at fit_points, then those at
/// check_points that are none of these, then those of other samples. Only traces that the check
/// compares have samples and the program: the first, those at check points and those of samples.
/// dynamic.capture_at calls SizedCapture::capture, too.
struct SizedTraces {
  std::vector<Trace> traces;
  DynamicExport dynamic;
};

/// How a front end captures its program at other sizes.
struct SizedCapture {
  /// The program's trace on these inputs. Without `compared` neither eager nor sample outputs are
  /// wanted.
  std::function<Outcome<Trace>(const std::vector<SampleTensor>& inputs, bool compared)> capture;
  std::function<void(int64_t done, int64_t total)> progress;  ///< may be empty
};

/// Captures the program of `sample`, a finished trace with its inputs, at all sizes that `dims` ask
/// for, and at the sizes of other samples, on whose inputs it is compared there. Parameters and
/// buffers have one copy in memory. Failures name the sizes: the program raises there
/// (kInvalidArgument), cannot be captured, or its trace is BROKEN (kUnsupported), beside those of
/// places_in and symbols_of. REQUIRES: !dims.empty().
Outcome<SizedTraces> capture_sizes(Trace sample, const std::vector<DynamicDim>& dims,
                                   const SizedCapture& program,
                                   const std::vector<SampleInputs>& more = {});

/// Parameters and buffers of `trace` become those of `first` where they are equal.
void share_constants(const Trace& first, Trace* trace);

/// Adds the finding that not all sizes were tried, unless `tried` (in any order) contains all.
void note_untried(const DynamicShapes& shapes, std::vector<SizePoint> tried, Trace* trace);

/// A tensor with `size` elements along a dim: those at positions round(i * (old-1) / (size-1)).
/// Beginning and end stay, so that masks and lengths remain valid. kInvalidArgument: an empty dim;
/// kLimitExceeded: more than 4 GiB.
Outcome<SampleTensor> stretched(const SampleTensor& tensor, size_t dim, int64_t size);

/// The sample's inputs, resized by stretched(). Fails as it does. REQUIRES: sample_inputs.
Outcome<std::vector<SampleTensor>> inputs_at(const SizePoint& point, const DynamicShapes& shapes,
                                             const Trace& sample);

}  // namespace lazyrt
