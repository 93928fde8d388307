#pragma once

// What a program returns: a nest of tuples, lists and dicts, flattened into named leaves.

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct NamedValue {
  std::string name;  ///< "out", "out.0.key"
  c10::IValue value;
};

/// The leaves of `value` in order: tensors, numbers and bools; None is none. Elements of tuples and
/// lists are named by their index, of named tuples by the field, of dicts by the key. Throws
/// c10::Error naming the place of anything else, and where two get one name.
std::vector<NamedValue> flatten_outputs(const c10::IValue& value, const std::string& name);

/// Outputs that are no tensors go around capture, which knows only tensors.
class ProgramOutputs {
 public:
  /// Of one run: keeps names and numbers, returns the tensors (never keeps one: no lazy tensor
  /// may outlive its capture). Numbers that differ from those of the first run are remembered.
  std::vector<at::Tensor> take(std::vector<NamedValue> values);

  /// Names the trace's outputs and puts the numbers of the first run among them, with a finding
  /// for each that was another in a later run. Throws c10::Error when the trace has not as many
  /// tensors as the run.
  void put_back(Trace& trace) const;

 private:
  struct Slot {
    std::string name;
    bool is_tensor = false;
    std::optional<SeenNumber> number;
    bool differs = false;
    bool operator==(const Slot& other) const {
      return name == other.name && is_tensor == other.is_tensor;
    }
  };
  std::vector<Slot> slots_;
  bool other_structure_ = false;
};

}  // namespace lazyrt
