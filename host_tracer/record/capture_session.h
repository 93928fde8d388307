#pragma once

// The state of one run of a program on one thread: leaves by their data, nodes in order.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/capture_node.h"
#include "host_tracer/record/fast_paths.h"
#include "host_tracer/record/run_log.h"
#include "host_tracer/record/shapes.h"
#include "host_tracer/record/value_cache.h"
#include "host_tracer/record/writing_calls.h"

namespace lazyrt {

/// What a run leaves behind; nothing of it refers to the lazy core.
struct CapturedRun {
  /// Also holds the nodes that compute the values of active syncs; findings are those of the run
  /// alone.
  Trace trace;
  std::vector<SyncRecord> syncs;
  std::vector<uint64_t> calls;     ///< fingerprints of all calls, dead ones too
  std::vector<int64_t> positions;  ///< for each node of the trace: the number of calls before it
  std::vector<bool> random;        ///< by value: a constant drawn at random
  /// Messages of findings about random numbers, with the values that were drawn there.
  std::map<std::string, std::vector<TraceValueId>> draws;
};

class CaptureSession {
 public:
  /// `script`: of a later run, else null. Both must outlive the session.
  CaptureSession(const CaptureRequest& request, const RunScript* script);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  /// This thread's running capture, or nullptr.
  static CaptureSession* current();

  const CaptureRequest& request() const { return request_; }

  /// The inputs as functional lazy tensors, in the request's order.
  const std::vector<at::Tensor>& inputs() const { return inputs_; }

  /// The functional lazy tensor over the data of a CPU tensor; one for each distinct data. It
  /// requires a gradient where the CPU's does.
  at::Tensor lift(const at::Tensor& cpu);

  /// The leaf's tensor when `t` is a CPU tensor over the data of one of the request's buffers, else
  /// `t` itself.
  at::Tensor in_place_of(const at::Tensor& t) const;

  /// See lazyrt::add_state().
  at::Tensor add_state(const std::string& name, const at::Tensor& initial);
  /// What a functional tensor holds now, as a tensor that is not functional.
  at::Tensor current_value(const at::Tensor& functional);

  /// Does the call: pops its arguments (lazy tensors, not functional; CPU tensors are constants)
  /// and pushes lazy results, or CPU values where the call brings them to the program.
  void record(const c10::OperatorHandle& op, torch::jit::Stack* stack);

  /// Remembers, weakly, a tensor that was made for the program, for kept_tensors().
  void remember(const at::Tensor& functional);
  /// After finish(), when the outputs are released: the sources of tensors that the program still
  /// holds.
  std::vector<Source> kept_tensors() const;
  /// True if the program read an operand of an earlier capture, which is an error.
  bool reads_earlier() const { return reads_earlier_; }
  /// Where that operand was made.
  const Source& earlier() const { return earlier_; }

  /// Ends the run. Throws when a program wrote into a CPU tensor behind the capture's back.
  CapturedRun finish(const std::vector<at::Tensor>& outputs, const std::vector<std::string>& names);

  // For operators that need more than a node (sync_ops, value_shapes, random_ops). Their tensors
  // are not functional.
  RunLog& log() { return log_; }
  const RunLog& log() const { return log_; }
  torch::lazy::Value operand_value(const at::Tensor& t);
  /// How the tensor was computed, as people read it, three operators deep.
  std::string operand_text(const at::Tensor& t);
  /// True when the tensor may have other values in another run of the bundle.
  bool is_dynamic(const at::Tensor& t);
  /// The tensor's value on the CPU, for the sample: never to be written.
  at::Tensor evaluate(const at::Tensor& t);
  /// A CPU tensor as a constant; `drawn`: the message of the finding that it was drawn at random.
  at::Tensor add_constant(const at::Tensor& cpu, const std::string& drawn = "");
  /// Records a call whose result shapes are known.
  void add_node(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                const std::vector<ResultShape>& results, torch::jit::Stack* stack);
  /// Reports a problem at the current source; the same problem at the same source counts once.
  void report(Finding finding);
  /// The places of a mask's true elements, as rows of indices or in the flattened mask, found
  /// earlier in this run; undefined: not yet.
  at::Tensor& places_of(const torch::lazy::Value& mask, bool flat) {
    return places_[{mask.node.get(), mask.index, flat}];
  }
  /// A CPU tensor of this capture that its maker stored under a key; undefined: not yet.
  at::Tensor& table(const std::vector<int64_t>& key) { return tables_[key]; }
  NestedStandIns& nested() { return nested_; }

 private:
  using DataKey = std::tuple<const void*, std::vector<int64_t>, std::vector<int64_t>, int>;
  struct Leaf {
    std::shared_ptr<LeafNode> node;
    at::Tensor functional;
    at::Tensor original;  ///< keeps the data's address taken
    bool lifted = false;  ///< the program has `functional`
  };
  /// A leaf that outlives a run of the bundle, and where the program first wrote it.
  struct Watched {
    std::shared_ptr<LeafNode> node;
    at::Tensor functional;
    bool written = false;
    bool hidden = false;  ///< no registered buffer
    Source source;
  };

  static DataKey key_of(const at::Tensor& cpu);
  Leaf& leaf_of(const at::Tensor& cpu);
  void renew(Leaf& leaf, const at::Tensor& cpu);
  Leaf make_leaf(LeafKind kind, const std::string& name, const at::Tensor& cpu);
  void add_named(LeafKind kind, const std::vector<NamedTensor>& tensors);
  bool record_special(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  void record_node(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  OpNode::Call make_call(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                         std::vector<torch::lazy::Value>& operands);
  torch::lazy::Value value_of_this_capture(const at::Tensor& lazy);
  void look_for_writes();
  void report_write(const Watched& leaf);
  void look_for_aliases(const Watched& written);
  void look_for_samples(const at::Tensor& constant);
  torch::lazy::Value output_value(const at::Tensor& output);
  void activate_syncs();
  void note_asked(const torch::lazy::Node* node, const Source& source);

  const CaptureRequest& request_;
  RunLog log_;
  WritingCalls writing_calls_;
  std::vector<at::Tensor> inputs_;
  std::vector<Leaf> input_leaves_;
  std::vector<Watched> watched_;
  std::map<DataKey, Leaf> leaves_;
  std::vector<torch::lazy::NodePtr> nodes_;  ///< in order
  std::vector<AskedConstant> asked_;
  std::unordered_set<const torch::lazy::Node*> asked_nodes_;  ///< that note_asked() has looked at
  ValueCache cache_;
  std::map<std::tuple<const torch::lazy::Node*, size_t, bool>, at::Tensor> places_;
  std::map<std::vector<int64_t>, at::Tensor> tables_;
  NestedStandIns nested_;
  Source last_source_;  ///< of the last node
  ShapeStats stats_;
  std::vector<Finding> findings_;
  std::map<std::string, std::vector<const LeafNode*>> draws_;
  std::vector<std::string> notes_;
  std::vector<std::pair<c10::weak_intrusive_ptr<c10::StorageImpl>, Source>> made_;
  bool reads_earlier_ = false;
  Source earlier_;
  const caffe2::TypeMeta default_dtype_ = at::get_default_dtype();
};

/// "aten::add.Tensor" of an operator.
std::string full_name(const c10::OperatorHandle& op);

/// " at encoder.0 (model.py:12)" or "".
std::string source_suffix();
std::string source_suffix(const Source& source);

}  // namespace lazyrt
