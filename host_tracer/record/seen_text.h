#pragma once

// Values that a trace has seen, as people read them.

#include <ATen/core/Tensor.h>

#include <string>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// "0.731", "3.0": as Python prints it, shortened to six digits.
std::string number_text(double value);
/// The one element of a CPU tensor: "0.731", "7", "True".
std::string scalar_text(const at::Tensor& one);
/// A scalar's text, or dtype and shape of a larger tensor: "f32[3,4]".
std::string seen_text(const at::Tensor& t);
/// The same with the elements of a short vector: "[1, 2, 3]".
std::string values_text(const at::Tensor& t);
/// The one element of a CPU tensor.
SeenNumber seen_number(const at::Tensor& one);

}  // namespace lazyrt
