#include "runtime/exec/fixed_variant.h"

#include <algorithm>

#include "runtime/core/log.h"
#include "runtime/exec/node_share.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

FixedVariant::~FixedVariant() {
  for (const Node& node : nodes_) {
    if (node.kernel != nullptr && node.kernel->release != nullptr)
      node.kernel->release(node.state, pool_->allocator());
  }
}

Fault FixedVariant::make_plan(const ProgramState& program, size_t, bool, const fb::Method& method,
                              const fb::Method&, const SessionOptions& options,
                              CountedMemory* memory, BackendServices* services, const RunStop&,
                              Pool* pool) {
  program_ = &program;
  method_ = &method;
  memory_ = memory;
  services_ = services;
  pool_ = pool;
  size_t most_operands = 0;
  LAZYRT_RETURN_IF_ERROR(make_tables(&most_operands));
  Pool scratch(pool->allocator());
  const auto specs = scratch.make<TensorSpec>(most_operands);
  if (scratch.is_short()) return no_memory_for_session();
  for (size_t i = 0; i < nodes_.size(); ++i)
    LAZYRT_RETURN_IF_ERROR(at_node(i, choose(i, *options.backend, specs.data())));
  return {};
}

Fault FixedVariant::make_tables(size_t* most_operands) {
  const size_t nodes = count_of(method_->nodes());
  for (size_t i = 0; i < nodes; ++i) {
    *most_operands =
        std::max(*most_operands, inputs_of(node(i)).size() + outputs_of(node(i)).size());
  }
  nodes_ = pool_->make<Node>(nodes);
  inputs_ = pool_->make<uint8_t*>(count_of(method_->inputs()));
  outputs_ = pool_->make<Output>(count_of(method_->outputs()));
  data_ = pool_->make<uint8_t*>(count_of(method_->values()));
  operands_ = pool_->make<TensorView>(*most_operands);
  if (pool_->is_short()) return no_memory_for_session();
  LAZYRT_RETURN_IF_ERROR(find_outputs());
  return guards_.make(*method_, {}, pool_);
}

/// If several outputs share the memory of one value, the first of them is noted at each.
Fault FixedVariant::find_outputs() {
  struct Root {
    uint32_t value = 0;
    uint32_t first = Output::kNone;
  };
  const void* kept = pool_->last();
  const auto roots = pool_->make<Root>(data_.size());  // per value
  if (pool_->is_short()) return no_memory_for_session();
  for (size_t id = 0; id < roots.size(); ++id) {
    const int32_t of = value(id).alias_of();
    roots[id].value = of < 0 ? static_cast<uint32_t>(id) : roots[static_cast<size_t>(of)].value;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Root& root = roots[roots[output_value(i)].value];
    if (value(root.value).kind() != fb::ValueKind::Arena) continue;
    if (root.first == Output::kNone) root.first = static_cast<uint32_t>(i);
    outputs_[i].first = root.first;
    outputs_[i].root = root.value;
  }
  pool_->forget_since(kept);
  return {};
}

/// Asks the session's backend and its fallbacks.
Fault FixedVariant::choose(size_t index, const Backend& first, TensorSpec* specs) {
  const fb::Node& from = node(index);
  const auto inputs = inputs_of(from), outputs = outputs_of(from);
  TensorSpec* spec = specs;
  for (const auto& ids : {inputs, outputs}) {
    for (const int32_t id : ids) {
      *spec = TensorSpec();
      if (id >= 0) {
        const fb::Value& v = value(static_cast<size_t>(id));
        *spec = spec_of(v);
        if (v.kind() == fb::ValueKind::Constant) spec->constant = program_->constant(v);
      }
      ++spec;
    }
  }
  const NodeSpec asked = {
      attrs_of(from), {specs, inputs.size()}, {specs + inputs.size(), outputs.size()}};
  FirstFault refusal;
  for (const Backend* b = &first; b != nullptr; b = b->fallback) {
    const Fault status = try_backend(*b, asked, &nodes_[index]);
    if (status.ok()) return refusal.ok() ? status : keep_reason(refusal, &nodes_[index]);
    if (status.error() != Error::kUnsupported) return status;
    refusal.add(status);
  }
  return refusal;
}

Fault FixedVariant::try_backend(const Backend& backend, const NodeSpec& spec, Node* node) {
  if (backend.device != nullptr)
    return Fault(Error::kUnsupported, "backend %s is a device", backend.name);
  Fault why(Error::kUnsupported, "backend %s has no kernel", backend.name);
  const Kernel* kernel = backend.select(*program_->ops->find(spec.attrs), spec, &why);
  if (kernel == nullptr) return why;
  LAZYRT_RETURN_IF_ERROR(services_->find_or_open(backend, &node->slot));
  PreparedKernel prepared;
  LAZYRT_RETURN_IF_ERROR(prepare_kernel(
      *kernel, backend, {spec, pool_->allocator(), services_->slot(node->slot).services}, memory_,
      services_->threads(), &prepared));
  node->kernel = kernel;
  node->state = prepared.state;
  workspace_bytes_ = std::max<uint64_t>(workspace_bytes_, prepared.workspace_bytes);
  packed_weight_bytes_ += prepared.packed_weight_bytes;
  return {};
}

Fault FixedVariant::keep_reason(const FirstFault& why, Node* node) const {
  LAZYRT_RETURN_IF_ERROR(services_->keep_reason(why, &node->fallback_reason));
  if (!has_log_hook()) return {};
  log_line(LogLevel::kInfo, "%s: runs on %s: %s",
           place_of(static_cast<size_t>(node - nodes_.data())).text,
           services_->slot(node->slot).backend->name, node->fallback_reason);
  return {};
}

Fault FixedVariant::make_values(const fb::Method&, const SharedMemory& memory, bool profile) {
  const SpaceMemory& host = memory.spaces[kHostSpace];
  arena_ = host.arena;
  workspace_ = host.workspace;
  host_states_ = host.states;
  states_ = memory.states;
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = arena_ + value(input_value(i)).offset();
  times_ = pool_->make<NodeTime>(profile ? nodes_.size() : 0);
  if (pool_->is_short()) return no_memory_for_session();
  place_values();
  return {};
}

/// Places bound values first: values that share their memory follow them.
void FixedVariant::place_values() {
  std::fill(data_.begin(), data_.end(), nullptr);
  for (size_t i = 0; i < inputs_.size(); ++i) data_[input_value(i)] = inputs_[i];
  for (const Output& output : outputs_) {
    if (output.place != nullptr) data_[output.root] = output.place;
  }
  for (size_t k = 0; k < states_.size(); ++k)
    data_[static_cast<size_t>(state_at(*method_, k).value())] = host_states_ + states_[k];
  for (size_t id = 0; id < data_.size(); ++id) {
    if (data_[id] != nullptr) continue;
    const fb::Value& v = value(id);
    const int32_t of = v.alias_of();
    data_[id] = of >= 0                               ? data_[static_cast<size_t>(of)]
                : v.kind() == fb::ValueKind::Constant ? const_cast<uint8_t*>(program_->constant(v))
                                                      : arena_ + v.offset();
  }
}

TensorView FixedVariant::view_of(size_t id) const { return lazyrt::view_of(value(id), data_[id]); }

TensorView FixedVariant::input(size_t i) const {
  TensorView view = view_of(input_value(i));
  view.data = inputs_[i];
  return view;
}

void FixedVariant::release_outputs() {
  for (Output& output : outputs_) {
    stale_ = stale_ || output.place != nullptr;
    output.place = nullptr;
  }
}

bool FixedVariant::bind_output(size_t i, void* data, int) {
  const uint32_t first = outputs_[i].first;
  if (first == Output::kNone || outputs_[first].place != nullptr) return false;
  outputs_[first].place = static_cast<uint8_t*>(data);
  stale_ = true;
  return true;
}

const uint8_t* FixedVariant::home_of_output(size_t i) const {
  return outputs_[i].first == Output::kNone ? nullptr : arena_ + value(outputs_[i].root).offset();
}

TensorView FixedVariant::next_of_state(size_t k) const {
  return view_of(static_cast<size_t>(state_at(*method_, k).next()));
}

Fault FixedVariant::run(const RunStop& stop) {
  broke_guard_ = false;
  if (stale_) place_values();
  const Fault status = run_nodes(stop);
  if (status.ok()) stale_ = false;
  return status;
}

Fault FixedVariant::run_nodes(const RunStop& stop) {
  const auto view = [this](size_t id) { return view_of(id); };
  size_t next_guard = 0;
  for (size_t i = 0;; ++i) {
    if (!guards_.hold(static_cast<int32_t>(i) - 1, view, &next_guard)) {
      broke_guard_ = true;
      guards_.count_refusal();
      return Fault(Error::kGuardFailed, "a guard does not hold");
    }
    if (i == nodes_.size()) return {};
    const Fault status = stop.is_due() ? stop.status() : run_node(i);
    if (!status.ok()) return at_node(i, status);
  }
}

Fault FixedVariant::run_node(size_t index) {
  const fb::Node& from = node(index);
  const auto inputs = inputs_of(from), outputs = outputs_of(from);
  TensorView* next = operands_.data();
  for (const auto& ids : {inputs, outputs}) {
    for (const int32_t id : ids) *next++ = id < 0 ? TensorView() : view_of(static_cast<size_t>(id));
  }
  const Node& node = nodes_[index];
  RunContext context;
  context.attrs = attrs_of(from);
  context.inputs = {operands_.data(), inputs.size()};
  context.outputs = {operands_.data() + inputs.size(), outputs.size()};
  context.workspace = workspace_;
  context.backend = services_->slot(node.slot).services;
  context.rebind = stale_;
  if (times_.empty()) return node.kernel->run(node.state, context);
  const uint64_t begin = platform_ticks();
  const Fault status = node.kernel->run(node.state, context);
  add_to(&times_[index].nanoseconds, platform_ticks() - begin);
  add_to(&times_[index].runs, 1);
  return status;
}

NodeInfo FixedVariant::line(size_t i) const {
  NodeInfo info;
  const fb::Node& from = node(i);
  info.op = program_->ops->find(attrs_of(from))->name;
  info.backend = services_->slot(nodes_[i].slot).backend->name;
  if (nodes_[i].fallback_reason != nullptr) info.fallback_reason = nodes_[i].fallback_reason;
  describe_source(*method_, from.source(), &info);
  if (times_.empty()) return info;
  info.runs = read_counter(times_[i].runs);
  info.nanoseconds = read_counter(times_[i].nanoseconds);
  return info;
}

}  // namespace lazyrt
