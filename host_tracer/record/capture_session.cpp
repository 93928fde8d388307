#include "host_tracer/record/capture_session.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <algorithm>
#include <unordered_map>

#include "host_tracer/record/build_trace.h"
#include "host_tracer/record/caught_errors.h"
#include "host_tracer/record/complex_value.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/lowering.h"
#include "host_tracer/record/number_checks.h"
#include "host_tracer/record/op_args.h"
#include "host_tracer/record/random_ops.h"
#include "host_tracer/record/seen_text.h"
#include "host_tracer/record/sync_ops.h"
#include "host_tracer/record/value_shapes.h"

namespace lazyrt {
namespace {

using torch::lazy::Value;

thread_local CaptureSession* t_session = nullptr;
thread_local const Source* t_source = nullptr;

constexpr const char* kIsWritten =
    " is written through another tensor (a view, detach(), .data, NumPy; in C++ also through the "
    "tensor itself instead of its lift()), and the graph does not see the write: clone() one "
    "of them, or make the view where it is used";

/// Operators whose result equals their operand, once views and writes are functional.
const std::unordered_set<std::string>& identities() {
  static const std::unordered_set<std::string> names = {
      "aten::alias_copy", "aten::clone",           "aten::contiguous", "aten::detach_copy",
      "aten::lift",       "aten::lift_fresh_copy", "aten::lift_fresh",
  };
  return names;
}

/// Complex tensors are allowed: a trace holds them as pairs of reals.
void check_dense(const at::Tensor& t, const std::string& what) {
  TORCH_CHECK(t.defined(), what, " is undefined");
  TORCH_CHECK(t.layout() == at::kStrided, what, " is a ", t.layout(),
              " tensor; only dense (strided) ones can be captured");
  TORCH_CHECK(t.device().is_cpu(), what, " is on device ", t.device(), "; move it to the CPU");
  const bool known = to_dtype(at::toRealValueType(t.scalar_type())) != DType::kNone;
  TORCH_CHECK(!t.is_quantized() && known, what, " has the unsupported dtype ", t.scalar_type());
}

/// A Python number among the outputs.
bool is_number(const at::Tensor& t) {
  return t.defined() && t.device().is_cpu() && t.unsafeGetTensorImpl()->is_wrapped_number();
}

at::Tensor resolved(const at::Tensor& t) {
  return t.is_neg() || t.is_conj() ? t.resolve_neg().resolve_conj() : t;
}

uint64_t fingerprint(const OpNode::Call& call, const std::vector<torch::lazy::Shape>& shapes) {
  torch::lazy::hash_t hash = torch::lazy::StringHash((call.op + "." + call.overload).c_str());
  for (const auto& shape : shapes) hash = torch::lazy::HashCombine(hash, shape.hash(true));
  return torch::lazy::HashReduce(hash);
}

/// True for operators that use only the type of their first operand: zero_() does not read what was
/// there.
bool forgets_first(const std::string& op) {
  static const std::unordered_set<std::string> names = {
      "aten::fill",      "aten::zero",      "aten::zeros_like", "aten::ones_like",
      "aten::full_like", "aten::new_zeros", "aten::new_ones",   "aten::new_full",
  };
  return names.count(op) != 0;
}

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() && b.numel() && a.has_storage() && b.has_storage() &&
         a.storage().data() == b.storage().data();
}

/// The shapes of a node's defined results; `indices` gets each result's place among them, or -1.
std::vector<torch::lazy::Shape> node_shapes(const c10::OperatorHandle& op,
                                            const std::vector<ResultShape>& results,
                                            std::vector<int32_t>& indices) {
  std::vector<torch::lazy::Shape> shapes;
  for (const ResultShape& result : results) {
    for (const auto& shape : result.tensors) {
      indices.push_back(shape ? static_cast<int32_t>(shapes.size()) : -1);
      if (!shape) continue;
      TORCH_CHECK(to_dtype(shape->scalar_type()) != DType::kNone, full_name(op), source_suffix(),
                  " gives a tensor of the unsupported dtype ", shape->scalar_type());
      shapes.push_back(*shape);
    }
  }
  return shapes;
}

void push_results(const std::vector<ResultShape>& results, const torch::lazy::NodePtr& node,
                  torch::jit::Stack* stack) {
  size_t index = 0;
  const auto next = [&](const std::optional<torch::lazy::Shape>& shape) {
    return shape ? make_lazy(Value(node, index++)) : at::Tensor();
  };
  for (const ResultShape& result : results) {
    if (!result.is_tensor) {
      stack->push_back(result.plain);
    } else if (result.is_list) {
      c10::List<at::Tensor> list;
      for (const auto& shape : result.tensors) list.push_back(next(shape));
      stack->push_back(list);
    } else {
      stack->push_back(next(result.tensors.front()));
    }
  }
}

}  // namespace

CaptureSession* CaptureSession::current() { return t_session; }

Source current_source() {
  if (t_source) return *t_source;
  if (!t_session || !t_session->request().source_of) return {};
  return t_session->request().source_of();
}

std::string full_name(const c10::OperatorHandle& op) { return c10::toString(op.operator_name()); }

std::string source_suffix(const Source& source) {
  const std::string where = source.text();
  return where.empty() ? "" : " at " + where;
}

std::string source_suffix() { return source_suffix(current_source()); }

SourceScope::SourceScope(Source source) : source_(std::move(source)), outer_(t_source) {
  t_source = &source_;
}

SourceScope::~SourceScope() { t_source = outer_; }

CaptureSession::CaptureSession(const CaptureRequest& request, const RunScript* script)
    : request_(request), log_(script), cache_(nodes_) {
  for (const NamedTensor& input : request.inputs) {
    input_leaves_.push_back(make_leaf(LeafKind::kInput, input.name, input.tensor));
    inputs_.push_back(input_leaves_.back().functional);
  }
  add_named(LeafKind::kParameter, request.parameters);
  add_named(LeafKind::kBuffer, request.buffers);
  t_session = this;
}

CaptureSession::~CaptureSession() {
  t_session = nullptr;
  leaves_.clear();
  places_.clear();
  input_leaves_.clear();
  watched_.clear();
  inputs_.clear();
  for (SyncRecord& sync : log_.syncs()) sync.value = Value();
  for (const auto& node : nodes_) {
    if (auto* op = dynamic_cast<OpNode*>(node.get())) op->end();
    if (auto* leaf = dynamic_cast<LeafNode*>(node.get())) leaf->end();
  }
}

void CaptureSession::add_named(LeafKind kind, const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& named : tensors) {
    check_dense(named.tensor, "'" + named.name + "'");
    const DataKey key = key_of(named.tensor);
    if (leaves_.count(key)) continue;  // tied: one leaf, under its first name
    leaves_.emplace(key, make_leaf(kind, named.name, named.tensor));
  }
}

CaptureSession::Leaf CaptureSession::make_leaf(LeafKind kind, const std::string& name,
                                               const at::Tensor& cpu) {
  check_dense(cpu, name.empty() ? "a constant" : "'" + name + "'");
  Leaf leaf;
  leaf.original = cpu;
  const bool pairs = is_complex_tensor(cpu);
  TORCH_CHECK(!pairs || kind != LeafKind::kInput, "input '", name,
              "' is complex: give torch.view_as_real of it, and make it complex in the program "
              "with torch.view_as_complex");
  const at::Tensor data = resolved(cpu.detach());
  leaf.node = std::make_shared<LeafNode>(kind, name, pairs ? at::view_as_real(data) : data);
  nodes_.push_back(leaf.node);
  const auto is_among = [&name](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool is_kept = kind == LeafKind::kParameter || kind == LeafKind::kBuffer;
  if (is_kept && is_among(request_.varying)) leaf.node->mark_varying();
  if (kind == LeafKind::kBuffer && is_among(request_.held)) leaf.node->mark_held();
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  const Value value(leaf.node, 0);
  leaf.functional = at::functionalization::impl::to_functional_tensor(
      make_lazy(pairs ? complex_of_pairs(value) : value));
  if (kind != LeafKind::kConstant)
    watched_.push_back({leaf.node, leaf.functional, false, false, {}});
  return leaf;
}

CaptureSession::DataKey CaptureSession::key_of(const at::Tensor& cpu) {
  // Empty tensors have no data address: they are distinguished by their object.
  const void* data = cpu.numel() ? cpu.const_data_ptr() : cpu.unsafeGetTensorImpl();
  return {data, cpu.sizes().vec(), cpu.strides().vec(), static_cast<int>(cpu.scalar_type())};
}

CaptureSession::Leaf& CaptureSession::leaf_of(const at::Tensor& cpu) {
  const DataKey key = key_of(cpu);
  auto it = leaves_.find(key);
  if (it != leaves_.end()) return it->second;
  look_for_samples(cpu);
  return leaves_.emplace(key, make_leaf(LeafKind::kConstant, "", cpu)).first->second;
}

/// If the program writes a constant on the CPU after its last use, it is a new constant from then
/// on.
void CaptureSession::renew(Leaf& leaf, const at::Tensor& cpu) {
  TORCH_CHECK(leaf.node->kind() == LeafKind::kConstant && !leaf.lifted,
              "the memory of a tensor that the program keeps", kIsWritten);
  leaf = make_leaf(LeafKind::kConstant, "", cpu);
}

at::Tensor CaptureSession::lift(const at::Tensor& cpu) {
  if (is_lazy(cpu)) return cpu;
  check_dense(cpu, "the lifted tensor");
  Leaf& leaf = leaf_of(cpu);
  if (!leaf.lifted && leaf.node->data_was_written()) renew(leaf, cpu);
  leaf.lifted = true;
  if (cpu.requires_grad() && cpu.is_leaf()) leaf.functional.set_requires_grad(true);
  return leaf.functional;
}

at::Tensor CaptureSession::add_state(const std::string& name, const at::Tensor& initial) {
  const at::Tensor own = initial.detach().clone();
  Leaf leaf = make_leaf(LeafKind::kBuffer, name, own);
  watched_.back().hidden = true;
  return leaves_.emplace(key_of(own), std::move(leaf)).first->second.functional;
}

at::Tensor CaptureSession::in_place_of(const at::Tensor& t) const {
  if (!t.device().is_cpu() || t.layout() != at::kStrided) return t;
  const auto found = leaves_.find(key_of(t));
  const bool buffer = found != leaves_.end() && found->second.node->kind() == LeafKind::kBuffer;
  return buffer ? found->second.functional : t;
}

std::string CaptureSession::operand_text(const at::Tensor& t) {
  return expression_text(operand_value(t).node.get(), 3);
}

Value CaptureSession::value_of_this_capture(const at::Tensor& lazy) {
  Value value = value_of(lazy);
  if (!of_ended_capture(value.node.get())) return value;
  const OpNode* made = as_op(value.node.get());
  earlier_ = made ? made->call().source : Source();
  reads_earlier_ = true;
  TORCH_CHECK(false, "the program reads a tensor that an earlier call left in it",
              made ? ", made by " + made->call().op + source_suffix(made->call().source) : "");
}

Value CaptureSession::operand_value(const at::Tensor& t) {
  if (is_lazy(t)) return value_of_this_capture(t);
  const WritingCalls::Pause pause;
  check_dense(t, "an operand");
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
    auto node = std::make_shared<LeafNode>(LeafKind::kConstant, "", t);
    nodes_.push_back(node);
    return Value(node, 0);
  }
  Leaf& leaf = leaf_of(t);
  if (leaf.node->data_was_written()) renew(leaf, t);
  // What the program did to the lifted form of the same data counts here, too.
  at::functionalization::impl::sync(leaf.functional);
  return value_of(at::functionalization::impl::from_functional_tensor(leaf.functional));
}

bool CaptureSession::is_dynamic(const at::Tensor& t) {
  const Value value = operand_value(t);
  if (depends_on_input(value.node.get()) || depends_on_buffer(value.node.get())) return true;
  note_asked(value.node.get(), current_source());
  return false;
}

at::Tensor CaptureSession::evaluate(const at::Tensor& t) {
  const at::Tensor value = cache_.get(without_complex(operand_value(t)));
  return is_complex_tensor(t) ? at::view_as_complex(value.contiguous()) : value;
}

at::Tensor CaptureSession::add_constant(const at::Tensor& cpu, const std::string& drawn) {
  const Value value = operand_value(cpu);
  if (!drawn.empty()) {
    LeafNode& leaf = *leaf_of(cpu).node;
    leaf.mark_random();
    draws_[drawn].push_back(&leaf);
  }
  return make_lazy(value);
}

void CaptureSession::remember(const at::Tensor& functional) {
  made_.emplace_back(functional.storage().getWeakStorageImpl(), current_source());
}

std::vector<Source> CaptureSession::kept_tensors() const {
  std::vector<Source> kept;
  for (const auto& [storage, source] : made_) {
    if (!storage.expired()) kept.push_back(source);
  }
  constexpr size_t kOurs = 2;  // in inputs_ and input_leaves_
  for (const at::Tensor& input : inputs_) {
    if (input.use_count() > kOurs || input.storage().use_count() > 1) kept.emplace_back();
  }
  return kept;
}

void CaptureSession::report(Finding finding) {
  if (finding.source.text().empty()) finding.source = current_source();
  for (const Finding& known : findings_) {
    if (known.id == finding.id && known.message == finding.message) return;
  }
  findings_.push_back(std::move(finding));
}

bool CaptureSession::record_special(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  if (identities().count(op.operator_name().name)) {
    const c10::IValue self = torch::jit::peek(*stack, 0, count);
    torch::jit::drop(*stack, count);
    // Makes a separate tensor: tensors that share one share a count of writes, which autograd
    // checks.
    stack->push_back(make_lazy(operand_value(self.toTensor())));
    return true;
  }
  if (record_assertion(*this, op, stack)) return true;
  guard_caught_errors(*this, op, *stack);
  check_filled_number(op, *stack);
  if (op.schema().returns().empty()) {
    notes_.push_back("dropped " + full_name(op) + source_suffix());
    torch::jit::drop(*stack, count);
    return true;
  }
  return record_complex(op, stack) || record_formula(op, stack) ||
         record_random(*this, op, stack) || record_sync(*this, op, stack) ||
         record_value_shaped(*this, op, stack);
}

void CaptureSession::record(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  try {
    if (WritingCalls::take()) look_for_writes();
    if (record_special(op, stack)) return;
    TORCH_CHECK(!op.schema().is_mutable(), full_name(op), source_suffix(),
                " writes into a tensor below functionalization, which capture cannot follow");
    record_node(op, stack);
  } catch (c10::Error& e) {
    const std::string text = e.what_without_backtrace(), where = source_suffix();
    const bool named = text.find(full_name(op)) != std::string::npos;
    const bool placed = where.empty() || text.find(where) != std::string::npos;
    if (!named || !placed) e.add_context("in " + full_name(op) + (placed ? "" : where));
    throw;
  }
}

void CaptureSession::record_node(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::vector<c10::IValue> args = torch::jit::pop(*stack, op.schema().arguments().size());
  leave_training_mode(*this, op, args);
  const int64_t on_cpu = stats_.cpu;
  const std::vector<ResultShape> results = [&] {
    const WritingCalls::Pause pause;
    return infer_shapes(op, args, stats_);
  }();
  if (stats_.cpu != on_cpu) notes_.push_back("ran " + full_name(op) + " on the CPU for its shape");
  add_node(op, args, results, stack);
}

void CaptureSession::add_node(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                              const std::vector<ResultShape>& results, torch::jit::Stack* stack) {
  std::vector<Value> operands;
  OpNode::Call call = make_call(op, args, operands);
  std::vector<torch::lazy::Shape> shapes = node_shapes(op, results, call.results);
  last_source_ = call.source;
  log_.call(fingerprint(call, shapes));
  auto node = std::make_shared<OpNode>(std::move(call), operands, std::move(shapes));
  nodes_.push_back(node);
  push_results(results, node, stack);
}

OpNode::Call CaptureSession::make_call(const c10::OperatorHandle& op,
                                       const std::vector<c10::IValue>& args,
                                       std::vector<Value>& operands) {
  TORCH_CHECK(at::get_default_dtype() == default_dtype_,
              "the program computes under a default dtype of its own (torch.set_default_dtype), "
              "which the capture does not follow: give its tensors their dtypes");
  OpNode::Call call;
  call.op = op.operator_name().name;
  call.overload = op.operator_name().overload_name;
  const auto id_of = [&](const at::Tensor& t) {
    operands.push_back(operand_value(t));
    return static_cast<TraceValueId>(operands.size() - 1);
  };
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    call.args.emplace_back(arguments[i].name(), to_trace_arg(op, arguments[i], args[i], id_of));
  }
  call.source = current_source();
  if (call.source.aten.empty()) call.source.aten = call.op;
  call.sequence = static_cast<int64_t>(nodes_.size());
  call.position = log_.position();
  for (const Value& operand : operands) {
    if (&operand == &operands.front() && forgets_first(call.op)) continue;
    call.depends_on_input = call.depends_on_input || depends_on_input(operand.node.get());
    call.depends_on_buffer = call.depends_on_buffer || depends_on_buffer(operand.node.get());
  }
  return call;
}

/// A write is noticed after its call: it belongs to the last node.
void CaptureSession::look_for_writes() {
  for (Watched& leaf : watched_) {
    if (leaf.written || !was_written(leaf.functional)) continue;
    leaf.written = true;
    leaf.source = last_source_;
  }
}

void CaptureSession::report_write(const Watched& leaf) {
  Finding finding;
  finding.source = leaf.source;
  const std::string name = "'" + leaf.node->name() + "'" + source_suffix(leaf.source);
  if (leaf.node->kind() == LeafKind::kInput) {
    finding.severity = Severity::kWarning;
    finding.id = "input-written";
    finding.message = "the program writes in place into input " + name +
                      "; the bundle leaves its caller's memory as it is";
    finding.suggestion = "work on a clone() of the input and return what the caller needs";
  } else if (leaf.node->kind() == LeafKind::kParameter) {
    finding.severity = Severity::kError;
    finding.id = "parameter-written";
    finding.message = "the program writes in place into parameter " + name;
    finding.suggestion =
        "make it a buffer (register_buffer): buffers may be written. Of an Embedding with "
        "max_norm, "
        "limit all rows once (weight.renorm_(2, 0, max_norm)) and export it with max_norm = None";
  } else {
    finding.id = "state";
    const std::string what =
        leaf.hidden ? "keeps a value in '" + leaf.node->name() + "'" : "writes buffer " + name;
    finding.message =
        "the program " + what + ": it is state, which every run of a session carries on";
  }
  findings_.push_back(std::move(finding));
}

/// Looks for two leaves that share memory, since before the call or because of set_ in it: a write
/// into one does not show in the other.
void CaptureSession::look_for_aliases(const Watched& written) {
  const auto report_other = [&](const LeafNode& other) {
    Finding finding;
    finding.severity = Severity::kError;
    finding.id = "shared-memory";
    finding.source = written.source;
    const std::string name = other.name().empty() ? "a constant" : "'" + other.name() + "'";
    finding.message = "the program writes into '" + written.node->name() + "', and " + name +
                      " lies in the same memory: the graph does not see the write there";
    finding.suggestion = "give each its own memory: clone() one of them";
    report(std::move(finding));
  };
  const auto check = [&](const Leaf& leaf) {
    if (leaf.node != written.node && share_memory(leaf.original, written.node->data())) {
      report_other(*leaf.node);
    }
  };
  for (const Leaf& leaf : input_leaves_) check(leaf);
  for (const auto& [key, leaf] : leaves_) check(leaf);
  if (written.node->kind() == LeafKind::kInput) return;
  for (const Watched& other : watched_) {
    const bool kept = other.node != written.node && other.node->kind() != LeafKind::kInput;
    if (kept && memory_of(other.functional) == memory_of(written.functional)) {
      report_other(*other.node);
    }
  }
}

/// A program that refers to the example's tensor directly uses its values, whatever inputs it is
/// given.
void CaptureSession::look_for_samples(const at::Tensor& constant) {
  for (const Leaf& input : input_leaves_) {
    if (!share_memory(constant, input.original)) continue;
    Finding finding;
    finding.severity = Severity::kError;
    finding.id = "baked-value";
    finding.message = "the example tensor of input '" + input.node->name() + "' itself is used" +
                      source_suffix() + ", beside the input that the program was called with";
    finding.suggestion = "use the argument, not the tensor that the example was made of";
    report(std::move(finding));
  }
}

at::Tensor CaptureSession::current_value(const at::Tensor& functional) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  if (!at::functionalization::impl::isFunctionalTensor(functional)) return functional;
  at::functionalization::impl::sync(functional);
  return at::functionalization::impl::from_functional_tensor(functional);
}

Value CaptureSession::output_value(const at::Tensor& output) {
  return without_complex(operand_value(current_value(output)));
}

/// Values of buffers that were not written are constants after all.
void CaptureSession::activate_syncs() {
  std::unordered_map<const torch::lazy::Node*, bool> of_state;
  for (const auto& node : nodes_) {
    bool state = false;
    if (const LeafNode* leaf = as_leaf(node.get())) {
      state = leaf->kind() == LeafKind::kState || leaf->varying();
    }
    for (const auto& operand : node->operands()) state = state || of_state[operand.node];
    of_state[node.get()] = state;
  }
  for (SyncRecord& sync : log_.syncs()) {
    sync.active = sync.of_inputs || (sync.value && of_state[sync.value.node.get()]);
    if (!sync.active && sync.value && sync.kind != SyncKind::kPeek) {
      note_asked(sync.value.node.get(), sync.source);
    }
  }
}

/// Notes that the parameters and buffers from which a value is computed are taken for constants.
void CaptureSession::note_asked(const torch::lazy::Node* node, const Source& source) {
  std::vector<const torch::lazy::Node*> todo = {node};
  while (!todo.empty()) {
    const torch::lazy::Node* next = todo.back();
    todo.pop_back();
    if (!asked_nodes_.insert(next).second) continue;
    for (const auto& operand : next->operands()) todo.push_back(operand.node);
    const LeafNode* leaf = as_leaf(next);
    if (leaf && leaf->kind() != LeafKind::kInput && !leaf->name().empty()) {
      asked_.push_back({leaf->name(), source});
    }
  }
}

CapturedRun CaptureSession::finish(const std::vector<at::Tensor>& outputs,
                                   const std::vector<std::string>& names) {
  nested_.clear();  // so that only the program's own tensors are left
  std::vector<NamedOutput> roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    NamedOutput root{i < names.size() ? names[i] : "", {}, {}};
    if (is_number(outputs[i])) {
      root.literal = seen_number(outputs[i]);
    } else if (outputs[i].defined()) {
      TORCH_CHECK(!is_complex_tensor(outputs[i]), "result ", i,
                  " is complex: return torch.view_as_real of it");
      root.value = output_value(outputs[i]);
    }
    roots.push_back(std::move(root));
  }
  look_for_writes();
  std::vector<Value> extras;
  std::vector<const Watched*> states;
  for (const Watched& leaf : watched_) {
    TORCH_CHECK(!leaf.node->data_was_written(), "the memory of '", leaf.node->name(), "'",
                kIsWritten);
    if (!leaf.written) continue;
    report_write(leaf);
    look_for_aliases(leaf);
    if (leaf.node->kind() == LeafKind::kInput) continue;
    leaf.node->become_state();
    states.push_back(&leaf);
    extras.push_back(output_value(leaf.functional));
    extras.push_back(Value(leaf.node, 0));
  }
  log_.end();
  activate_syncs();
  for (const SyncRecord& sync : log_.syncs()) extras.push_back(sync.active ? sync.value : Value());
  std::vector<const LeafNode*> inputs;
  for (const Leaf& leaf : input_leaves_) inputs.push_back(leaf.node.get());
  BuiltTrace built = build_trace(inputs, roots, extras);
  CapturedRun run;
  run.trace = std::move(built.trace);
  for (size_t i = 0; i < states.size(); ++i) {
    run.trace.states.push_back({built.extras[2 * i + 1], built.extras[2 * i]});
  }
  run.trace.default_real = to_dtype(c10::typeMetaToScalarType(default_dtype_));
  run.trace.shapes = stats_;
  run.trace.notes = notes_;
  run.trace.asked = asked_;
  run.trace.findings = findings_;
  run.syncs = std::move(log_.syncs());
  for (size_t i = 0; i < run.syncs.size(); ++i) {
    run.syncs[i].id = built.extras[2 * states.size() + i];
    run.syncs[i].value = Value();
  }
  for (const auto& [message, leaves] : draws_) {
    auto& ids = run.draws[message];
    for (const LeafNode* leaf : leaves) {
      if (const auto id = built.leaves.find(leaf); id != built.leaves.end()) {
        ids.push_back(id->second);
      }
    }
  }
  run.calls = log_.calls();
  run.positions = std::move(built.positions);
  run.random = std::move(built.random);
  return run;
}

}  // namespace lazyrt
