#include "runtime/backends/vulkan/segment.h"
#include "runtime/op/node_work.h"

#include <algorithm>

namespace lazyrt {
namespace {

/// Moving an element takes as long as so many multiply-adds: see kDefaultSubmissionWork.
constexpr Work kWorkOfMove = 8;

}  // namespace

VulkanSegment::VulkanSegment(VulkanSession* session, const Allocator& allocator)
    : session_(*session),
      api_(session->device().api()),
      allocator_(allocator),
      nodes_(allocator),
      constants_(allocator),
      operands_(allocator),
      parts_(allocator),
      recorder_(session->device(), &session->program().pipelines(), &session->program().memory(),
                allocator) {}

VulkanSegment::~VulkanSegment() {
  for (const Node& node : nodes_) {
    if (node.kernel->release != nullptr) node.kernel->release(node.state, allocator_);
  }
  for (VulkanPart& part : parts_)
    part.recording.release(session_.device(), session_.command_pool());
}

Fault VulkanSegment::compile(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused) {
  for (size_t i = 0; i < spec.nodes.size(); ++i) {
    const Fault fault = compile_node(spec.nodes[i], spec.allocator, prepared);
    if (fault.error() == Error::kUnsupported) *refused = i;
    if (!fault.ok()) return fault;
  }
  return {};
}

Fault VulkanSegment::compile_node(const SegmentNode& node, const Allocator& allocator,
                                  PreparedKernel* prepared) {
  Fault why;
  const Kernel* kernel = find_kernel(*node.op, KernelSlot::kVulkan, node.spec, &why);
  if (kernel == nullptr) return why;
  VulkanStore& store = session_.program().store();
  // Other sessions of the Program may add to it meanwhile.
  const uint64_t held = store.held_bytes();
  PreparedKernel made;
  VulkanPreparation preparation = {session_.program()};
  if (kernel->prepare != nullptr)
    LAZYRT_RETURN_IF_ERROR(kernel->prepare({node.spec, allocator, &preparation}, &made));
  const Fault fault = nodes_.append({node.index, node.op, kernel, node.spec.attrs, made.state,
                                     node.spec.inputs.size(), node.spec.outputs.size()});
  if (!fault.ok()) {
    if (kernel->release != nullptr) kernel->release(made.state, allocator);
    return fault;
  }
  LAZYRT_RETURN_IF_ERROR(add_to_parts(node));
  prepared->workspace_bytes = std::max(prepared->workspace_bytes, made.workspace_bytes);
  LAZYRT_RETURN_IF_ERROR(copy_constants(node, preparation.packed_inputs));
  prepared->packed_weight_bytes += static_cast<size_t>(store.held_bytes() - held);
  return {};
}

/// Adds the node to the last part if their work fits into one submission, else to a new part.
Fault VulkanSegment::add_to_parts(const SegmentNode& node) {
  const auto& [attrs, inputs, outputs] = node.spec;
  const Work work = work_of_node(*node.op->def, attrs, inputs, outputs) +
                    kWorkOfMove * work_by_size(attrs, inputs, outputs);
  if (!parts_.empty()) {
    VulkanPart& last = parts_[parts_.size() - 1];
    if (session_.fits(last.work, work)) {
      last.work = last.work + work;
      ++last.nodes;
      return {};
    }
  }
  return parts_.append({1, work, 0, false, {}});
}

Fault VulkanSegment::copy_constants(const SegmentNode& node, uint32_t packed) {
  VulkanStore& store = session_.program().store();
  for (size_t i = 0; i < node.spec.inputs.size(); ++i) {
    const TensorSpec& spec = node.spec.inputs[i];
    if (spec.constant == nullptr) continue;
    Constant constant = {operand_count_ + i, nullptr};
    if (i >= 32 || (packed >> i & 1) == 0) {
      LAZYRT_RETURN_IF_ERROR(store.find_or_copy(spec.constant, spec.bytes(), &constant.address));
    }
    LAZYRT_RETURN_IF_ERROR(constants_.append(constant));
  }
  operand_count_ += node.spec.inputs.size() + node.spec.outputs.size();
  return {};
}

/// Lists the operands, constants at the places where we keep them.
Fault VulkanSegment::list_operands(Span<const TensorView> operands) {
  operands_.clear();
  for (const TensorView& operand : operands) LAZYRT_RETURN_IF_ERROR(operands_.append(operand));
  for (const Constant& constant : constants_)
    operands_[constant.operand].data = const_cast<void*>(constant.address);
  return {};
}

/// Records the node with the first of *operands, and removes these from there.
Fault VulkanSegment::record(const Node& node, void* workspace, Span<const TensorView>* operands) {
  const RunContext context = {node.attrs, operands->subspan(0, node.inputs),
                              operands->subspan(node.inputs, node.outputs), workspace, &recorder_};
  const size_t count = node.inputs + node.outputs;
  *operands = operands->subspan(count, operands->size() - count);
  recorder_.begin_node(node.index, node.op->name);
  return node.kernel->run(node.state, context)
      .with_context("node %zu (%s)", node.index, node.op->name);
}

Fault VulkanSegment::bind(Span<const TensorView> given, void* workspace) {
  LAZYRT_RETURN_IF_ERROR(list_operands(given));
  Span<const TensorView> operands(operands_.data(), operands_.size());
  recorder_.begin(session_.error_word());
  const Node* node = nodes_.begin();
  for (VulkanPart& part : parts_) {
    const Recorder::Mark from = recorder_.mark();
    for (size_t i = 0; i < part.nodes; ++i)
      LAZYRT_RETURN_IF_ERROR(record(*node++, workspace, &operands));
    const Recorder::Mark to = recorder_.mark();
    part.dispatches = to.dispatches - from.dispatches;
    part.has_work = to.commands != from.commands;
    if (!part.has_work) continue;
    LAZYRT_RETURN_IF_ERROR(part.recording.record(session_.device(), session_.command_pool(),
                                                 recorder_, from, to, session_.is_timed()));
  }
  return {};
}

Fault VulkanSegment::times(Span<uint64_t> nanoseconds) const {
  size_t first = 0;
  for (const VulkanPart& part : parts_) {
    LAZYRT_RETURN_IF_ERROR(times_of(part, nanoseconds.subspan(first, part.nodes)));
    first += part.nodes;
  }
  return {};
}

Fault VulkanSegment::times_of(const VulkanPart& part, Span<uint64_t> nanoseconds) const {
  for (uint64_t& time : nanoseconds) time = 0;
  if (!part.has_work) return {};
  const double period = session_.device().physical().properties.limits.timestampPeriod;
  uint64_t begin = 0;
  for (uint32_t i = 0; i <= nanoseconds.size(); ++i) {
    uint64_t ticks = 0;
    LAZYRT_VK_RETURN_IF_ERROR(api_, GetQueryPoolResults, session_.device().handle(),
                              part.recording.times, i, 1, sizeof(ticks), &ticks, sizeof(ticks),
                              VK_QUERY_RESULT_64_BIT);
    if (i > 0)
      nanoseconds[i - 1] = static_cast<uint64_t>(static_cast<double>(ticks - begin) * period);
    begin = ticks;
  }
  return {};
}

}  // namespace lazyrt
