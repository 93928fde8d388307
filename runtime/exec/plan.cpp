#include "runtime/exec/plan.h"

#include <cstring>

#include "runtime/core/log.h"

namespace lazyrt {
namespace {

Status no_memory() { return Status(Error::kOutOfMemory, "no memory for the plan of a session"); }

/// A kernel's refusal moves on to the next backend, other errors end the session's making.
bool is_refusal(const Status& status) { return status.error() == Error::kUnsupported; }

}  // namespace

Status Plan::list_operands(const fb::Method& method) {
  size_t total = 0;
  const size_t count = count_of(method.nodes());
  for (uint32_t i = 0; i < count; ++i) {
    total +=
        count_of(method.nodes()->Get(i)->inputs()) + count_of(method.nodes()->Get(i)->outputs());
  }
  if (!nodes_.make(count, allocator_) || !operands_.make(total, allocator_)) return no_memory();
  uint32_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Node& node = *method.nodes()->Get(i);
    PlannedNode& planned = nodes_[i];
    planned.attrs = attrs_of(node);
    planned.first_operand = next;
    planned.input_count = static_cast<uint32_t>(count_of(node.inputs()));
    planned.output_count = static_cast<uint32_t>(count_of(node.outputs()));
    for (int32_t id : ints_of(node.inputs())) operands_[next++] = id;
    for (int32_t id : ints_of(node.outputs())) operands_[next++] = id;
  }
  return {};
}

Status Plan::make_specs(const ProgramState& program, const fb::Method& method) {
  if (!specs_.make(operands_.size(), allocator_)) return no_memory();
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i] < 0) continue;
    const fb::Value& value = *method.values()->Get(static_cast<uint32_t>(operands_[i]));
    specs_[i] = spec_of(value);
    if (value.kind() == fb::ValueKind::Constant) specs_[i].constant = program.constant(value);
  }
  return {};
}

NodeSpec Plan::node_spec(const PlannedNode& node) const {
  NodeSpec spec;
  spec.attrs = node.attrs;
  const TensorSpec* first = specs_.data() + node.first_operand;
  spec.inputs = {first, node.input_count};
  spec.outputs = {first + node.input_count, node.output_count};
  return spec;
}

Status Plan::try_backend(const Backend& backend, const NodeSpec& spec, BackendServices* services,
                         PlannedNode* node) {
  Status why(Error::kUnsupported, "backend %s has no kernel", backend.name);
  const Kernel* kernel = backend.select(*node->op, spec, &why);
  if (kernel == nullptr) return why;
  PrepareContext context;
  context.node = spec;
  context.allocator = allocator_;
  LAZYRT_RETURN_IF_ERROR(services->find_or_open(backend, &context.backend));
  PreparedKernel prepared;
  if (kernel->prepare != nullptr) LAZYRT_RETURN_IF_ERROR(kernel->prepare(context, &prepared));
  node->kernel = kernel;
  node->backend = &backend;
  node->services = context.backend;
  node->prepared = prepared;
  return {};
}

Status Plan::keep_reason(const Status& why, PlannedNode* node) {
  const size_t bytes = std::strlen(why.message()) + 1;
  node->fallback_reason = static_cast<char*>(allocator_.allocate(allocator_.context, bytes, 1));
  if (node->fallback_reason == nullptr) return no_memory();
  std::memcpy(node->fallback_reason, why.message(), bytes);
  return {};
}

Status Plan::plan_node(size_t index, const Backend& backend, BackendServices* services) {
  PlannedNode& node = nodes_[index];
  const NodeSpec spec = node_spec(node);
  Status first;
  for (const Backend* b = &backend; b != nullptr; b = b->fallback) {
    const Status status = try_backend(*b, spec, services, &node);
    if (status.ok()) return first.ok() ? Status() : keep_reason(first, &node);
    if (!is_refusal(status)) return status;
    if (first.ok()) first = status;
  }
  return first;
}

/// The kernel has its own copy of the weights: the mapped file's pages need not stay in memory.
void Plan::drop_packed_pages(const ProgramState& program, const PlannedNode& node) const {
  if (program.file.data == nullptr || node.prepared.packed_weight_bytes == 0) return;
  for (const TensorSpec& input : node_spec(node).inputs) {
    if (input.constant != nullptr) platform_pages_unneeded(input.constant, input.bytes());
  }
}

Status Plan::make(const ProgramState& program, const fb::Method& method, const Backend& backend,
                  const Allocator& allocator, BackendServices* services) {
  allocator_ = allocator;
  LAZYRT_RETURN_IF_ERROR(list_operands(method));
  LAZYRT_RETURN_IF_ERROR(make_specs(program, method));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    PlannedNode& node = nodes_[i];
    node.op = program.ops->find(node.attrs);
    const Status status = plan_node(i, backend, services);
    if (!status.ok()) return status.with_context("%s", node_place(method, i, *program.ops).text);
    drop_packed_pages(program, node);
    if (node.fallback_reason != nullptr) {
      log_line(LogLevel::kInfo, "%s: runs on %s: %s", node_place(method, i, *program.ops).text,
               node.backend->name, node.fallback_reason);
    }
    if (node.prepared.workspace_bytes > workspace_bytes_)
      workspace_bytes_ = node.prepared.workspace_bytes;
    packed_weight_bytes_ += node.prepared.packed_weight_bytes;
  }
  specs_.clear();
  return {};
}

void Plan::clear() {
  for (PlannedNode& node : nodes_) {
    if (node.kernel != nullptr && node.kernel->release != nullptr) {
      node.kernel->release(node.prepared.state, allocator_);
    }
    if (node.fallback_reason != nullptr)
      allocator_.release(allocator_.context, node.fallback_reason);
  }
  nodes_.clear();
  operands_.clear();
  specs_.clear();
  workspace_bytes_ = 0;
  packed_weight_bytes_ = 0;
}

}  // namespace lazyrt
