#include "host_tracer/capture/capture_session.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <unordered_set>

#include "host_tracer/capture/build_trace.h"
#include "host_tracer/capture/lazy_backend.h"
#include "host_tracer/capture/op_args.h"
#include "host_tracer/capture/shapes.h"
#include "host_tracer/capture/trace_eval.h"

namespace lazyrt {
namespace {

using torch::lazy::Value;

thread_local CaptureSession* t_session = nullptr;
thread_local const Source* t_source = nullptr;

/// Results equal to their operand, once views and writes are functional.
const std::unordered_set<std::string>& identities() {
  static const std::unordered_set<std::string> names = {
      "aten::alias_copy", "aten::clone",           "aten::contiguous", "aten::detach_copy",
      "aten::lift",       "aten::lift_fresh_copy", "aten::lift_fresh",
  };
  return names;
}

/// Operators whose results' shapes depend on values.
const std::unordered_set<std::string>& value_shaped() {
  static const std::unordered_set<std::string> names = {
      "aten::_unique",
      "aten::_unique2",
      "aten::bincount",
      "aten::masked_select",
      "aten::nonzero",
      "aten::nonzero_numpy",
      "aten::unique_dim",
      "aten::unique_consecutive",
      "aten::unique_dim_consecutive",
  };
  return names;
}

/// True for calls whose result is a value for the program, or has a shape that depends on values.
bool needs_values(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args) {
  const std::string& name = op.operator_name().name;
  if (name == "aten::_local_scalar_dense" || name == "aten::equal") return true;
  if (name == "aten::repeat_interleave") {
    return op.operator_name().overload_name == "Tensor" && args[1].isNone();
  }
  if (name == "aten::index") {
    for (const auto& index : args[1].toOptionalTensorVector()) {
      if (!index || !index->defined()) continue;
      if (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte) return true;
    }
  }
  return value_shaped().count(name) != 0;
}

/// True for a call that brings a lazy tensor to the CPU.
bool leaves_device(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args) {
  if (op.operator_name().name != "aten::_to_copy" || !is_lazy(args[0].toTensor())) return false;
  for (const c10::IValue& arg : args) {
    if (arg.isDevice() && !arg.toDevice().is_lazy()) return true;
  }
  return false;
}

void check_dense(const at::Tensor& t, const std::string& what) {
  TORCH_CHECK(t.defined(), what, " is undefined");
  TORCH_CHECK(t.layout() == at::kStrided, what, " is a ", t.layout(),
              " tensor; only dense (strided) ones can be captured");
  TORCH_CHECK(t.device().is_cpu(), what, " is on device ", t.device(), "; move it to the CPU");
  TORCH_CHECK(!t.is_quantized() && to_dtype(t.scalar_type()) != DType::kNone, what,
              " has the unsupported dtype ", t.scalar_type());
}

at::Tensor resolved(const at::Tensor& t) {
  return t.is_neg() || t.is_conj() ? t.resolve_neg().resolve_conj() : t;
}

/// Kept whole, these hide that they write into running statistics.
void check_running_statistics(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args) {
  const std::string& name = op.operator_name().name;
  if (name != "aten::batch_norm" && name != "aten::instance_norm") return;
  const bool from_batch = args[5].toBool();
  const bool keeps = args[3].isTensor() && args[3].toTensor().defined();
  TORCH_CHECK(!from_batch || !keeps, name, source_suffix(),
              " updates its running statistics: the "
              "model is in training mode; call model.eval() before it is exported");
}

bool any_depends_on_input(const std::vector<Value>& operands) {
  for (const Value& operand : operands) {
    if (depends_on_input(operand.node.get())) return true;
  }
  return false;
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

std::string source_suffix() {
  const std::string where = current_source().text();
  return where.empty() ? "" : " at " + where;
}

SourceScope::SourceScope(Source source) : source_(std::move(source)), outer_(t_source) {
  t_source = &source_;
}

SourceScope::~SourceScope() { t_source = outer_; }

CaptureSession::CaptureSession(const CaptureRequest& request) : request_(request) {
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
  input_leaves_.clear();
  inputs_.clear();
  while (!nodes_.empty()) nodes_.pop_back();
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
  leaf.node = std::make_shared<LeafNode>(kind, name, resolved(cpu.detach()));
  nodes_.push_back(leaf.node);
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  leaf.functional =
      at::functionalization::impl::to_functional_tensor(make_lazy(Value(leaf.node, 0)));
  return leaf;
}

CaptureSession::DataKey CaptureSession::key_of(const at::Tensor& cpu) {
  // Empty tensors have no data of their own: they are told apart by their object.
  const void* data = cpu.numel() ? cpu.const_data_ptr() : cpu.unsafeGetTensorImpl();
  return {data, cpu.sizes().vec(), cpu.strides().vec(), static_cast<int>(cpu.scalar_type())};
}

CaptureSession::Leaf& CaptureSession::leaf_of(const at::Tensor& cpu) {
  const DataKey key = key_of(cpu);
  auto it = leaves_.find(key);
  if (it == leaves_.end()) it = leaves_.emplace(key, make_leaf(LeafKind::kConstant, "", cpu)).first;
  return it->second;
}

at::Tensor CaptureSession::lift(const at::Tensor& cpu) {
  if (is_lazy(cpu)) return cpu;
  check_dense(cpu, "the lifted tensor");
  return leaf_of(cpu).functional;
}

Value CaptureSession::operand_value(const at::Tensor& t) {
  if (is_lazy(t)) return value_of(t);
  check_dense(t, "an operand");
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
    auto node = std::make_shared<LeafNode>(LeafKind::kConstant, "", t);
    nodes_.push_back(node);
    return Value(node, 0);
  }
  Leaf& leaf = leaf_of(t);
  TORCH_CHECK(!leaf.node->data_was_written(),
              "a CPU tensor that the program uses beside lazy ones "
              "was written between two uses; lift() it first");
  // What the program did to the lifted form of the same data counts here, too.
  at::functionalization::impl::sync(leaf.functional);
  return value_of(at::functionalization::impl::from_functional_tensor(leaf.functional));
}

at::Tensor CaptureSession::evaluate_constant(const c10::OperatorHandle& op, const at::Tensor& t) {
  if (!is_lazy(t)) return t;
  const Value value = value_of(t);
  TORCH_CHECK(!depends_on_input(value.node.get()), full_name(op), source_suffix(),
              " needs a value that depends on the model's inputs; such data-dependent code cannot "
              "be captured yet: rewrite it with tensor operations (torch.where, masks)");
  return evaluate_value(value);
}

bool CaptureSession::record_special(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  if (identities().count(op.operator_name().name)) {
    const c10::IValue self = torch::jit::peek(*stack, 0, count);
    torch::jit::drop(*stack, count);
    stack->push_back(is_lazy(self.toTensor()) ? self : make_lazy(operand_value(self.toTensor())));
    return true;
  }
  if (op.schema().returns().empty()) {
    notes_.push_back("dropped " + full_name(op) + source_suffix());
    torch::jit::drop(*stack, count);
    return true;
  }
  const std::vector<c10::IValue> args(stack->end() - static_cast<std::ptrdiff_t>(count),
                                      stack->end());
  const bool to_cpu = leaves_device(op, args);
  if (!to_cpu && !needs_values(op, args)) return false;
  run_on_values(op, stack);
  if (!to_cpu) lift_results(op, stack);
  return true;
}

void CaptureSession::run_on_values(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  for (size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i) {
    map_tensors((*stack)[i], [&](const at::Tensor& t) { return evaluate_constant(op, t); });
  }
  op.callBoxed(*stack);
}

void CaptureSession::lift_results(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    map_tensors((*stack)[i], [&](const at::Tensor& t) { return make_lazy(operand_value(t)); });
  }
}

void CaptureSession::record(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  try {
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
  const std::vector<c10::IValue> args = torch::jit::pop(*stack, op.schema().arguments().size());
  check_running_statistics(op, args);
  const int64_t on_cpu = stats_.cpu;
  const std::vector<ResultShape> results = infer_shapes(op, args, stats_);
  if (stats_.cpu != on_cpu) notes_.push_back("ran " + full_name(op) + " on the CPU for its shape");
  std::vector<Value> operands;
  OpNode::Call call = make_call(op, args, operands);
  std::vector<torch::lazy::Shape> shapes = node_shapes(op, results, call.results);
  auto node = std::make_shared<OpNode>(std::move(call), operands, std::move(shapes));
  nodes_.push_back(node);
  push_results(results, node, stack);
}

OpNode::Call CaptureSession::make_call(const c10::OperatorHandle& op,
                                       const std::vector<c10::IValue>& args,
                                       std::vector<Value>& operands) {
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
  call.depends_on_input =
      op.hasTag(at::Tag::nondeterministic_seeded) || any_depends_on_input(operands);
  return call;
}

void CaptureSession::check_writes() const {
  const auto written = [](const Leaf& leaf) {
    using at::functionalization::impl::unsafeGetFunctionalWrapper;
    return leaf.node->data_was_written() ||
           unsafeGetFunctionalWrapper(leaf.functional)->has_data_mutation();
  };
  std::string names;
  const auto check = [&](const Leaf& leaf, const char* kind) {
    if (written(leaf))
      names += (names.empty() ? "" : ", ") + std::string(kind) + " '" + leaf.node->name() + "'";
  };
  for (const Leaf& leaf : input_leaves_) check(leaf, "input");
  for (const auto& [key, leaf] : leaves_) {
    if (leaf.node->kind() == LeafKind::kParameter) check(leaf, "parameter");
    if (leaf.node->kind() == LeafKind::kBuffer) check(leaf, "buffer");
  }
  TORCH_CHECK(names.empty(), "the model writes in place into ", names,
              "; state that outlives a run is not supported yet: return the new value instead");
}

Value CaptureSession::output_value(const at::Tensor& output) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  if (!at::functionalization::impl::isFunctionalTensor(output)) return operand_value(output);
  at::functionalization::impl::sync(output);
  return operand_value(at::functionalization::impl::from_functional_tensor(output));
}

Trace CaptureSession::finish(const std::vector<at::Tensor>& outputs,
                             const std::vector<std::string>& names) {
  check_writes();
  std::vector<const LeafNode*> inputs;
  for (const Leaf& leaf : input_leaves_) inputs.push_back(leaf.node.get());
  std::vector<NamedOutput> roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    roots.push_back({i < names.size() ? names[i] : "",
                     outputs[i].defined() ? output_value(outputs[i]) : Value()});
  }
  Trace trace = build_trace(inputs, roots);
  trace.shapes = stats_;
  trace.notes = notes_;
  return trace;
}

}  // namespace lazyrt
