#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lazyrt {

/// Other values for an input of a program, of its dtype and shape and plausible where it is.
/// Floating ones: at level 0 reordered, and at each level moved by noise of 10^-(level + 1) of
/// their spread; NaN and infinity stay NaN and infinity. Integers and truth values are reordered,
/// at level n only a share of 10^-n of them, so that indices stay in their range.
at::Tensor perturbed(const at::Tensor& cpu, int level, uint64_t seed);

}  // namespace lazyrt
