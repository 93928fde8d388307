#pragma once

// Inputs for a program that differ from those of its export.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lazyrt {

/// For which programs altered inputs tell something.
enum class AlteredFor : uint8_t {
  kAll,
  kKeeping,  ///< far from the sample, to pass thresholds on what the program keeps
  kGaps,     ///< with NaN or infinities, for programs that test for them
};

struct AlteredInputs {
  std::string how;  ///< "floats x 30, integers at their upper end"
  std::vector<at::Tensor> tensors;
  AlteredFor programs = AlteredFor::kAll;
};

/// Inputs of the sample's shapes and dtypes, all different from the sample and from each other as
/// far as it allows: floating ones reordered, times 0.01 and 30, negated, of mixed signs and sizes,
/// last those that pass the thresholds of ordinary code, all above 10, times 1000, all below -10,
/// and those with gaps: some elements NaN, or infinite;
/// integers drawn anew between the smallest and largest seen, and at these ends (a single value v:
/// 0 or 1 if v is one of them, else the range from v - 2 to v + 2, at least 0 for v >= 0); truth
/// values flipped or drawn; those, and integers of 0 and 1, as masks of padding as well: alike up
/// to a place in each row of the last dim. Where there are floating and other inputs, two cases
/// alter only one kind. NaN and infinities stay.
std::vector<AlteredInputs> altered_inputs(const std::vector<at::Tensor>& sample, uint64_t seed);

/// Moves each finite element of a floating tensor by that many last places, up or down at random;
/// `mirrored` moves it the other way. Other tensors are returned as they are.
at::Tensor nudged(const at::Tensor& tensor, int places, uint64_t seed, bool mirrored);

/// Makes equal elements different, by some last places of their own and of the largest element, in
/// an order that `mirrored` reverses.
at::Tensor loosened(const at::Tensor& tensor, uint64_t seed, bool mirrored);

}  // namespace lazyrt
