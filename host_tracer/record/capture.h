#pragma once

// Capture: runs any C++ code that calls ATen on LibTorch's lazy device, so that every call becomes
// a node of a Trace instead of a computation. Includes LibTorch: only host_tracer/capture and
// host_tracer/frontends may include this file.

#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  ///< on the CPU, strided
};

/// What a program is captured with. All tensors stay the caller's and are never written.
struct CaptureRequest {
  std::vector<NamedTensor> inputs;        ///< example inputs: their shapes and dtypes are assumed
  std::vector<NamedTensor> parameters;    ///< CPU tensors that the program uses by themselves, or
  std::vector<NamedTensor> buffers;       ///< through lift(); unlisted ones become constants
  std::vector<std::string> output_names;  ///< may be empty or shorter than the outputs
  /// Names of parameters, buffers and add_state()'s tensors that other calls or samples of the
  /// program write: values that are read from them on the host are guarded, as if this call wrote
  /// them.
  std::vector<std::string> varying;
  /// Names of buffers whose values are known at each call: values computed from them alone are
  /// treated as constants, unless they are varying, too.
  std::vector<std::string> held;

  /// Called for each recorded node and sync that no SourceScope covers; if empty, such nodes have
  /// no source. Runs on the capturing thread, inside the program; must not throw or call ATen.
  std::function<Source()> source_of;
  /// Called on the capturing thread when a truth value `seen` is read by the program: returns the
  /// text of the check ("assert n < 10") if the program raises on the other value, else "". May be
  /// empty.
  std::function<std::string(bool seen)> check_of;
  /// Called where an operator raises on other inputs: may the program continue after it? Empty: no.
  std::function<bool()> is_caught;
  /// It is not known whether the program catches what operators raise (C++).
  bool may_catch = false;
  /// Called before each of the traces, on the capturing thread and outside of the program: restores
  /// what the program's last run changed (RNG, buffers, counters of the module). May be empty.
  std::function<void()> before_trace;
  /// The front end does not track what the program keeps beyond its call (members of a C++ object):
  /// tensors kept there are findings.
  bool keeps_nothing = false;
  /// Receives the exception that ended the capture, of whatever type, in addition to the Failure:
  /// the program's in its first run, or before_trace's in any. A front end can rethrow its user's
  /// own exception. Null: only the Failure reports it.
  std::exception_ptr* thrown = nullptr;
};

/// The program: gets the inputs as lazy tensors, returns the outputs. It may use CPU tensors
/// (parameters of an nn::Module) beside them; those become constants of the trace. An output that
/// is undefined is None; a 0-dim CPU tensor marked as a wrapped number is a Python number: it
/// becomes a literal, and the second trace looks whether it is always the same.
using CaptureProgram = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// Captures `program` by one trace: capture_checked() without its second trace. One capture runs at
/// a time in a process; others wait. Nothing is computed beyond shapes and what the program asks
/// for. LibTorch's exceptions, and those of the program, become errors; the process is then as it
/// was before. sample_inputs of the trace are the request's inputs; sample_outputs are left empty.
Outcome<Trace> capture(const CaptureRequest& request, const CaptureProgram& program);

/// Inside a program: the lazy tensor of a CPU tensor. The same data gives the same tensor, so that
/// views of it and writes into it are seen. Throws c10::Error outside a capture.
at::Tensor lift(const at::Tensor& cpu);

/// Inside a program: the tensor's value on the CPU, for people to look at (print, log), without a
/// guard. The program must not use it in decisions; it differs in the second trace.
at::Tensor peek(const at::Tensor& lazy);

/// Inside a program: requires from here on that `condition` (one element) is not 0; otherwise a run
/// is refused by a check with that text. Throws c10::Error with the text if it is 0 already.
void require(const at::Tensor& condition, const std::string& text);

// Inside a program, for what it keeps between its calls outside of buffers. All throw c10::Error
// outside a capture.

/// A buffer that the request does not list: what is written into the tensor is state of that name,
/// which begins as `initial`. Each call makes another one. REQUIRES: initial is a CPU tensor.
at::Tensor add_state(const std::string& name, const at::Tensor& initial);
/// True when the lazy tensor may have other values in another run of the bundle.
bool is_dynamic(const at::Tensor& lazy);
/// The lazy tensor's value for the sample, on the CPU, in memory of the caller. No sync: the
/// program must not use it in decisions.
at::Tensor sample_of(const at::Tensor& lazy);
/// True once the program has written into the lazy tensor in place, set it to other memory (set_)
/// or changed its shape (t_, resize_).
bool was_written(const at::Tensor& lazy);
/// How often the memory of the lazy tensor was written so far, through any tensor.
uint64_t writes_into(const at::Tensor& lazy);
/// Equal for lazy tensors that may see each other's writes.
const void* memory_of(const at::Tensor& lazy);
/// Whether some of its elements share memory, as after expand() and in windows of unfold().
bool overlaps_itself(const at::Tensor& lazy);

/// The device on which programs are captured, for factories inside a program.
at::Device capture_device();

/// While one lives, nodes recorded by this thread carry `source`. Scopes nest.
class SourceScope {
 public:
  explicit SourceScope(Source source);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  Source source_;
  const Source* outer_;
};

/// The source that a node of this thread gets now: the innermost SourceScope's, else what the
/// request's source_of says, else nothing.
Source current_source();

/// ATen's dtype as ours; kNone when the runtime has none (complex, quantized, unsigned 16 bit, …).
DType to_dtype(at::ScalarType type);
/// Our dtype as ATen's; Undefined for kNone.
at::ScalarType to_scalar_type(DType type);

/// The tensor as a sample: contiguous bytes, shared with `cpu` where that is contiguous already.
SampleTensor to_sample(const at::Tensor& cpu);
/// A CPU tensor over the sample's bytes, which it keeps alive.
at::Tensor from_sample(const SampleTensor& sample);

}  // namespace lazyrt
