#pragma once

// The arguments of forward from what the caller gives.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {

/// forward's arguments (without self) as a nest whose tensors can be exchanged.
class ScriptInputs {
 public:
  /// Throws c10::ValueError that lists forward's arguments and their types where one is missing,
  /// unknown, or of another kind.
  ScriptInputs(const c10::FunctionSchema& forward, const std::vector<GivenInput>& given);

  /// The tensors in order: "x", "h.0", "d.key".
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  /// The arguments with these tensors in place of tensors().
  std::vector<c10::IValue> arguments(const std::vector<at::Tensor>& tensors) const;
  /// "argument 'k' is fixed at 3", for the report.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  c10::IValue build(const c10::TypePtr& type, const std::string& name);
  c10::IValue build_list(const c10::ListType& type, const std::string& name);
  c10::IValue build_dict(const c10::DictType& type, const std::string& name);
  c10::IValue build_tuple(const c10::TupleTypePtr& type, const std::string& name);
  c10::IValue build_number(const c10::TypePtr& type, const std::string& name);
  c10::IValue argument(const c10::Argument& argument);
  const GivenInput* find(const std::string& name);
  bool is_given(const std::string& prefix) const;
  [[noreturn]] void refuse(const std::string& why) const;
  void check_all_used() const;

  const c10::FunctionSchema& schema_;
  const std::vector<GivenInput>& given_;
  std::vector<bool> used_;
  std::vector<c10::IValue> arguments_;
  std::vector<NamedTensor> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace lazyrt
