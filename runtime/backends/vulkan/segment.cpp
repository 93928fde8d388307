#include "runtime/backends/vulkan/segment.h"

#include <algorithm>

namespace lazyrt {

VulkanSegment::VulkanSegment(VulkanSession* session, const Allocator& allocator)
    : session_(*session),
      api_(session->device().api()),
      allocator_(allocator),
      nodes_(allocator),
      constants_(allocator),
      operands_(allocator),
      recorder_(session->device(), &session->program().pipelines(), &session->program().memory(),
                allocator) {}

VulkanSegment::~VulkanSegment() {
  const VkDevice device = session_.device().handle();
  for (const Node& node : nodes_) {
    if (node.kernel->release != nullptr) node.kernel->release(node.state, allocator_);
  }
  if (buffer_ != VK_NULL_HANDLE)
    api_.FreeCommandBuffers(device, session_.command_pool(), 1, &buffer_);
  if (sets_ != VK_NULL_HANDLE) api_.DestroyDescriptorPool(device, sets_, nullptr);
}

Fault VulkanSegment::compile(const SegmentSpec& spec, PreparedKernel* prepared) {
  for (const SegmentNode& node : spec.nodes)
    LAZYRT_RETURN_IF_ERROR(compile_node(node, spec.allocator, prepared));
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = session_.command_pool();
  info.commandBufferCount = 1;
  LAZYRT_VK_RETURN_IF_ERROR(api_, AllocateCommandBuffers, session_.device().handle(), &info,
                            &buffer_);
  return {};
}

Fault VulkanSegment::compile_node(const SegmentNode& node, const Allocator& allocator,
                                  PreparedKernel* prepared) {
  Fault why;
  const Kernel* kernel = find_kernel(*node.op, KernelSlot::kVulkan, node.spec, &why);
  if (kernel == nullptr) return why;
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
  prepared->workspace_bytes = std::max(prepared->workspace_bytes, made.workspace_bytes);
  prepared->packed_weight_bytes += made.packed_weight_bytes;
  return copy_constants(node, preparation.packed_inputs, prepared);
}

Fault VulkanSegment::copy_constants(const SegmentNode& node, uint32_t packed,
                                    PreparedKernel* prepared) {
  for (size_t i = 0; i < node.spec.inputs.size(); ++i) {
    const TensorSpec& spec = node.spec.inputs[i];
    if (spec.constant == nullptr) continue;
    Constant constant = {operand_count_ + i, nullptr};
    if (i >= 32 || (packed >> i & 1) == 0) {
      LAZYRT_RETURN_IF_ERROR(
          session_.program().store().find_or_copy(spec.constant, spec.bytes(), &constant.address));
      prepared->packed_weight_bytes += spec.bytes();
    }
    LAZYRT_RETURN_IF_ERROR(constants_.append(constant));
  }
  operand_count_ += node.spec.inputs.size() + node.spec.outputs.size();
  return {};
}

/// The operands with the constants where we keep them.
Fault VulkanSegment::list_operands(Span<const TensorView> operands) {
  operands_.clear();
  for (const TensorView& operand : operands) LAZYRT_RETURN_IF_ERROR(operands_.append(operand));
  for (const Constant& constant : constants_)
    operands_[constant.operand].data = const_cast<void*>(constant.address);
  return {};
}

Fault VulkanSegment::bind(Span<const TensorView> given, void* workspace) {
  LAZYRT_RETURN_IF_ERROR(list_operands(given));
  const Span<const TensorView> operands(operands_.data(), operands_.size());
  recorder_.begin(session_.error_word());
  size_t next = 0;
  for (const Node& node : nodes_) {
    const RunContext context = {node.attrs, operands.subspan(next, node.inputs),
                                operands.subspan(next + node.inputs, node.outputs), workspace,
                                &recorder_};
    next += node.inputs + node.outputs;
    recorder_.begin_node(node.index, node.op->name);
    LAZYRT_RETURN_IF_ERROR(node.kernel->run(node.state, context)
                               .with_context("node %zu (%s)", node.index, node.op->name));
  }
  has_work_ = recorder_.has_commands();
  if (!has_work_) return {};
  LAZYRT_RETURN_IF_ERROR(make_sets());
  const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  LAZYRT_VK_RETURN_IF_ERROR(api_, BeginCommandBuffer, buffer_, &begin);
  LAZYRT_RETURN_IF_ERROR(recorder_.emit(buffer_, sets_));
  LAZYRT_VK_RETURN_IF_ERROR(api_, EndCommandBuffer, buffer_);
  return {};
}

/// A set for each dispatch, from a pool that only grows.
Fault VulkanSegment::make_sets() {
  const VkDevice device = session_.device().handle();
  const size_t wanted = std::max<size_t>(recorder_.dispatches(), 1);
  if (set_room_ >= wanted) {
    LAZYRT_VK_RETURN_IF_ERROR(api_, ResetDescriptorPool, device, sets_, 0);
    return {};
  }
  if (sets_ != VK_NULL_HANDLE) api_.DestroyDescriptorPool(device, sets_, nullptr);
  sets_ = VK_NULL_HANDLE;
  set_room_ = 0;
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                     static_cast<uint32_t>(wanted * kMostOperands)};
  VkDescriptorPoolCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = static_cast<uint32_t>(wanted);
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateDescriptorPool, device, &info, nullptr, &sets_);
  set_room_ = wanted;
  return {};
}

}  // namespace lazyrt
