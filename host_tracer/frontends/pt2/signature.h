#pragma once

// What the signature of an exported program says: user inputs, parameters, outputs.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/utils/generated_serialization_types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host_tracer/frontends/pt2/pt2_dims.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// One placeholder of the graph, in the graph's order.
struct Pt2Placeholder {
  enum class Kind { kInput, kParameter, kBuffer, kConstant, kNumber };
  Kind kind = Kind::kInput;
  std::string name;    ///< in the graph; the input's name for the user
  std::string target;  ///< full name of parameter, buffer or constant
  c10::IValue number;  ///< kNumber: a Python value that export fixed (None, int, float, bool, str)
};

/// One output of the graph, in the graph's order.
struct Pt2Output {
  std::string name;
  /// The new value of this placeholder, written at the end of a run; nullopt: a result.
  std::optional<size_t> written;
};

struct Pt2Signature {
  std::vector<Pt2Placeholder> placeholders;
  std::vector<Pt2Output> outputs;
};

/// Reads the signature. Throws naming what cannot be captured: custom objects, symbolic numbers as
/// inputs, tokens, gradients.
Pt2Signature read_signature(const torch::_export::ExportedProgram& program);

/// The dims of inputs that are no numbers, in order. Empty: all static.
std::vector<Pt2Dim> dynamic_dims(const torch::_export::ExportedProgram& program,
                                 const Pt2Signature& signature);

/// "input 'x': dim 0 (s0 in 2..64)"
std::string dim_text(const Pt2Dim& dim);

/// The leaves of nested tuples, lists and dicts, in order.
void flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves);

}  // namespace lazyrt
