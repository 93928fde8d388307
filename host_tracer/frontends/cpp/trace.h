#pragma once

// The C++ front end: a torch::nn::Module or any function of tensors becomes a Trace.
//
//   auto trace = lazyrt::trace(module, {x});                       // std::shared_ptr or holder
//   auto trace = lazyrt::trace([](at::Tensor x) { return x * 2; }, {x});

#include <ATen/core/ivalue.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

struct TraceOptions {
  std::vector<std::string> input_names;  ///< missing ones are "x0", "x1", …
  CheckOptions check;
  bool sample_outputs = true;  ///< run the program eagerly, too, for Trace::sample_outputs
  /// The trace keeps the program, for the check after export: objects that a function refers to
  /// have to live as long as the trace. false: a bundle is checked against the trace itself.
  bool keep_program = true;
};

/// A program in the form that capture needs: it returns tensors nested in tuples, lists and dicts.
struct CppProgram {
  std::function<c10::IValue(const std::vector<at::Tensor>&)> run;
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  /// The bytes of the object that is run, as far as its type tells: what differs from call to call
  /// there is a member that changes. Empty: unknown.
  std::function<std::string()> picture;
};

/// Captures a program. Buffers that it changes by itself are put back. Outputs are named by their
/// place in the result ("out", "out.0", "out.key"). kInvalidArgument: an input; kUnsupported: the
/// program.
Outcome<Trace> trace_program(const CppProgram& program, const std::vector<at::Tensor>& inputs,
                             const TraceOptions& options);

/// The module's parameters and buffers by their paths. A matrix is listed as "fc.weight.T", too:
/// torch::nn::Linear reads it so.
CppProgram program_of(const torch::nn::Module& module);

/// The line of the caller, for a SourceScope: nodes recorded while it lives carry it.
///   const lazyrt::SourceScope here(lazyrt::source_here("encoder"));
Source source_here(std::string module_path = "",
                   std::source_location where = std::source_location::current());

namespace cpp_detail {

constexpr size_t kMaxInputs = 12;

/// The program takes another number of tensors.
struct ArityError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class Fn, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<Fn&, decltype((void)I, std::declval<const at::Tensor&>())...>;
}

template <class Fn, size_t... I>
c10::IValue call_with(Fn& fn, const std::vector<at::Tensor>& x, std::index_sequence<I...>) {
  return c10::IValue(fn(x[I]...));
}

/// Calls fn with as many arguments as there are tensors, if it takes so many.
template <size_t N, class Fn>
c10::IValue call_tensors(Fn& fn, const std::vector<at::Tensor>& x) {
  if constexpr (takes<Fn>(std::make_index_sequence<N>())) {
    if (x.size() == N) return call_with(fn, x, std::make_index_sequence<N>());
  }
  if constexpr (N < kMaxInputs) return call_tensors<N + 1>(fn, x);
  throw ArityError("the program does not take " + std::to_string(x.size()) + " tensors");
}

template <class Fn>
c10::IValue call(Fn& fn, const std::vector<at::Tensor>& x) {
  if constexpr (std::is_invocable_v<Fn&, const std::vector<at::Tensor>&>) {
    return c10::IValue(fn(x));
  } else {
    return call_tensors<0>(fn, x);
  }
}

template <class T>
std::string bytes_of(const T& object) {
  return std::string(reinterpret_cast<const char*>(&object), sizeof(T));
}

}  // namespace cpp_detail

/// A torch::nn::Module: its forward is run; its named parameters and buffers are the trace's.
/// The module is only read: data, training flag and gradients stay as they are.
template <std::derived_from<torch::nn::Module> M>
CppProgram as_program(const std::shared_ptr<M>& module) {
  CppProgram program = program_of(*module);
  program.run = [module](const std::vector<at::Tensor>& x) {
    auto forward = [&](auto&&... tensors) -> decltype(module->forward(tensors...)) {
      return module->forward(tensors...);
    };
    return cpp_detail::call(forward, x);
  };
  program.picture = [module] { return cpp_detail::bytes_of(*module); };
  return program;
}

template <class M>
CppProgram as_program(const torch::nn::ModuleHolder<M>& module) {
  return as_program(module.ptr());
}

/// A function of tensors, or of a vector of them. CPU tensors that it uses become constants.
template <class Fn>
requires(!std::is_base_of_v<torch::detail::ModuleHolderIndicator, std::decay_t<Fn>>) CppProgram
    as_program(Fn fn) {
  CppProgram program;
  const auto kept = std::make_shared<Fn>(std::move(fn));
  program.run = [kept](const std::vector<at::Tensor>& x) { return cpp_detail::call(*kept, x); };
  program.picture = [kept] { return cpp_detail::bytes_of(*kept); };
  return program;
}

/// Captures a module (std::shared_ptr or holder) or a function. Code that makes tensors by itself
/// has to make them on the device of its inputs (`torch::zeros({4}, x.options())`) if it writes
/// into them. See trace_program for names and errors.
template <class Program>
Outcome<Trace> trace(const Program& program, const std::vector<at::Tensor>& example_inputs,
                     const TraceOptions& options = {}) {
  return trace_program(as_program(program), example_inputs, options);
}

}  // namespace lazyrt
