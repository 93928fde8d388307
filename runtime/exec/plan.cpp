#include "runtime/exec/plan.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/log.h"
#include "runtime/op/attrs_copy.h"

namespace lazyrt {
namespace {

Status no_memory() { return Status(Error::kOutOfMemory, "no memory for the plan of a session"); }

/// What a node's kernel may take beside arena, workspace and packed weights: tables in proportion
/// to what they are about.
constexpr uint64_t kNodeSlack = uint64_t{1} << 20, kNodeFactor = 16;
/// Beside that, what a workspace may have for each thread.
constexpr uint64_t kThreadWorkspace = uint64_t{16} << 20;

uint64_t share_of(const NodeSpec& node) {
  constexpr uint64_t kMost = UINT64_MAX / 4 / kNodeFactor;
  uint64_t bytes = 0;
  for (const auto& specs : {node.inputs, Span<const TensorSpec>(node.outputs)}) {
    for (const TensorSpec& spec : specs) {
      if (spec.present()) bytes = std::min<uint64_t>(bytes + spec.bytes(), kMost);
    }
  }
  return kNodeSlack + kNodeFactor * bytes;
}

/// A kernel's refusal moves on to the next backend, other errors end the session's making.
bool is_refusal(const Status& status) { return status.error() == Error::kUnsupported; }

}  // namespace

Status Plan::list_operands(const fb::Method& method) {
  size_t total = 0, most = 0;
  const size_t count = count_of(method.nodes());
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Node& node = *method.nodes()->Get(i);
    const size_t operands = count_of(node.inputs()) + count_of(node.outputs());
    total += operands;
    most = operands > most ? operands : most;
  }
  if (!nodes_.make(count, allocator_) || !operands_.make(total, allocator_) ||
      !specs_.make(most, allocator_)) {
    return no_memory();
  }
  uint32_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Node& node = *method.nodes()->Get(i);
    PlannedNode& planned = nodes_[i];
    planned.first_operand = next;
    planned.input_count = static_cast<uint32_t>(count_of(node.inputs()));
    planned.output_count = static_cast<uint32_t>(count_of(node.outputs()));
    for (int32_t id : ints_of(node.inputs())) operands_[next++] = id;
    for (int32_t id : ints_of(node.outputs())) operands_[next++] = id;
  }
  return {};
}

Status Plan::copy_attributes(const fb::Method& method) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    bytes += attrs_copy_bytes(attrs_of(*method.nodes()->Get(i)));
  if (!attributes_.make(bytes, allocator_)) return no_memory();
  uint8_t* next = attributes_.data();
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    nodes_[i].attrs = copy_attrs(attrs_of(*method.nodes()->Get(i)), &next);
  return {};
}

NodeSpec Plan::fill_specs(const ProgramState& program, const fb::Method& method,
                          const PlannedNode& node) {
  const size_t count = node.input_count + node.output_count;
  for (size_t i = 0; i < count; ++i) {
    const int32_t id = operands_[node.first_operand + i];
    specs_[i] = TensorSpec();
    if (id < 0) continue;
    const fb::Value& value = *method.values()->Get(static_cast<uint32_t>(id));
    specs_[i] = spec_of(value);
    if (value.kind() == fb::ValueKind::Constant) specs_[i].constant = program.constant(value);
  }
  NodeSpec spec;
  spec.attrs = node.attrs;
  spec.inputs = {specs_.data(), node.input_count};
  spec.outputs = {specs_.data() + node.input_count, node.output_count};
  return spec;
}

/// Prepares the kernel within the node's share of memory. A kernel that asks for more refuses the
/// node (kUnsupported) where another backend may take it.
Status Plan::prepare(const Kernel& kernel, const Backend& backend, const PrepareContext& context,
                     int threads, PreparedKernel* prepared) {
  if (kernel.prepare == nullptr) return {};
  if (backend.fallback == nullptr) return kernel.prepare(context, prepared);
  const uint64_t share = share_of(context.node);
  memory_->forget_refusal();
  memory_->begin_share(share);
  const Status status = kernel.prepare(context, prepared);
  memory_->end_share();
  if (!status.ok()) {
    const bool of_share = status.error() == Error::kOutOfMemory &&
                          memory_->refusal() == CountedMemory::Refusal::kShare;
    if (!of_share) return status;
    memory_->forget_refusal();
    return Status(Error::kUnsupported, "%s: more than a node of its size may take",
                  status.message());
  }
  const uint64_t workspace = share + static_cast<uint64_t>(threads) * kThreadWorkspace;
  if (prepared->workspace_bytes <= workspace) return {};
  if (kernel.release != nullptr) kernel.release(prepared->state, allocator_);
  return Status(Error::kUnsupported,
                "a workspace of %zu bytes is more than a node of its size may take",
                prepared->workspace_bytes);
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
  LAZYRT_RETURN_IF_ERROR(prepare(*kernel, backend, context, services->threads(), &prepared));
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

Status Plan::plan_node(const NodeSpec& spec, const Backend& backend, BackendServices* services,
                       PlannedNode* node) {
  Status first;
  for (const Backend* b = &backend; b != nullptr; b = b->fallback) {
    const Status status = try_backend(*b, spec, services, node);
    if (status.ok()) return first.ok() ? Status() : keep_reason(first, node);
    if (!is_refusal(status)) return status;
    if (first.ok()) first = status;
  }
  return first;
}

/// The kernel has its own copy of the weights: the mapped file's pages need not stay in memory.
void Plan::drop_packed_pages(const ProgramState& program, const NodeSpec& spec,
                             const PlannedNode& node) const {
  if (program.file.data == nullptr || node.prepared.packed_weight_bytes == 0) return;
  for (const TensorSpec& input : spec.inputs) {
    if (input.constant != nullptr) platform_pages_unneeded(input.constant, input.bytes());
  }
}

Status Plan::make(const ProgramState& program, const fb::Method& method, const Backend& backend,
                  CountedMemory* memory, BackendServices* services) {
  memory_ = memory;
  allocator_ = memory->allocator();
  LAZYRT_RETURN_IF_ERROR(list_operands(method));
  LAZYRT_RETURN_IF_ERROR(copy_attributes(method));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    PlannedNode& node = nodes_[i];
    node.op = program.ops->find(node.attrs);
    const NodeSpec spec = fill_specs(program, method, node);
    const Status status = plan_node(spec, backend, services, &node);
    if (!status.ok()) return status.with_context("%s", node_place(method, i, *program.ops).text);
    drop_packed_pages(program, spec, node);
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

void Plan::keep_reasons_of(Plan* other) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    char*& mine = nodes_[i].fallback_reason;
    char*& its = other->nodes_[i].fallback_reason;
    if (mine != nullptr && its != nullptr && std::strcmp(mine, its) == 0) std::swap(mine, its);
  }
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
  attributes_.clear();
  specs_.clear();
  workspace_bytes_ = 0;
  packed_weight_bytes_ = 0;
}

}  // namespace lazyrt
