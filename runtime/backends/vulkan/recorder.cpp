#include "runtime/backends/vulkan/recorder.h"

#include <algorithm>
#include <cstring>

namespace lazyrt {

namespace {
constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
}  // namespace

void barrier_to_host(const VulkanApi& api, VkCommandBuffer buffer) {
  const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, kWrites,
                                   VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
  api.CmdPipelineBarrier(buffer, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0,
                         nullptr);
}

void full_barrier(const VulkanApi& api, VkCommandBuffer buffer) {
  constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
  const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, kWrites,
                                   kReads | kWrites};
  api.CmdPipelineBarrier(buffer, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Recorder::begin(const void* error_word) {
  commands_.clear();
  ranges_.clear();
  failures_.clear();
  since_barrier_ = dispatches_ = nodes_ = may_fail_ = 0;
  error_word_ = error_word;
}

bool Recorder::is_same_as(const Recorder& other) const {
  if (commands_.size() != other.commands_.size() || ranges_.size() != other.ranges_.size())
    return false;
  for (size_t i = 0; i < commands_.size(); ++i) {
    const Command &a = commands_[i], &b = other.commands_[i];
    const bool same = a.pipeline == b.pipeline && a.push_bytes == b.push_bytes &&
                      a.range_count == b.range_count && a.waits == b.waits &&
                      a.groups.x == b.groups.x && a.groups.y == b.groups.y &&
                      a.groups.z == b.groups.z && std::memcmp(a.push, b.push, sizeof(a.push)) == 0;
    if (!same) return false;
  }
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const Range &a = ranges_[i], &b = other.ranges_[i];
    const bool same = a.place.buffer == b.place.buffer && a.place.offset == b.place.offset &&
                      a.begin == b.begin && a.end == b.end;
    if (!same) return false;
  }
  return true;
}

void Recorder::swap_commands(Recorder& other) {
  commands_.swap(other.commands_);
  ranges_.swap(other.ranges_);
  std::swap(dispatches_, other.dispatches_);
}

void Recorder::begin_node(size_t node, const char* op) {
  node_ = node;
  op_ = op;
  ++nodes_;
}

/// Codes follow the order of nodes, and codes given out between two barriers have slots of their
/// own. Behind a barrier a slot is used again: no shader writes into it once an earlier node has
/// failed.
Fault Recorder::failure(const ShaderFault& fault, uint32_t* code) {
  const auto slot = static_cast<uint32_t>(failures_.size() % ErrorBlock::kSlots);
  *code = static_cast<uint32_t>(node_ + 1) * ErrorBlock::kSlots + slot;
  ++may_fail_;
  return failures_.append({*code, fault, node_, op_});
}

const Recorder::Failure* Recorder::find_failure(uint32_t code) const {
  for (const Failure& failure : failures_) {
    if (failure.code == code) return &failure;
  }
  return nullptr;
}

VulkanGroups Recorder::linear(uint64_t invocations) const {
  const uint64_t groups = (invocations + kLinearGroup - 1) / kLinearGroup;
  const uint64_t rows = std::max<uint64_t>((groups + limits().groups - 1) / limits().groups, 1);
  return {static_cast<uint32_t>((groups + rows - 1) / rows), static_cast<uint32_t>(rows), 1};
}

Fault Recorder::dispatch(const Shader& shader, Span<const uint32_t> constants,
                         Span<const VulkanOperand> operands, const void* push, size_t push_bytes,
                         VulkanGroups groups) {
  if (groups.x == 0 || groups.y == 0 || groups.z == 0) return {};
  if (std::max({groups.x, groups.y, groups.z}) > limits().groups) {
    return Fault(Error::kUnsupported, "%s: %u x %u x %u workgroups, the device runs %u each way",
                 op_, groups.x, groups.y, groups.z, limits().groups);
  }
  Command command = {};
  LAZYRT_RETURN_IF_ERROR(pipelines_.find_or_make(shader, constants, &command.pipeline));
  command.groups = groups;
  command.push_bytes = static_cast<uint32_t>(16 + (push_bytes + 3) / 4 * 4);
  std::memcpy(command.push + 4, push, push_bytes);
  ++dispatches_;
  return add(command, operands);
}

Fault Recorder::copy(const void* to, const void* from, uint64_t bytes) {
  if (bytes == 0 || to == from) return {};
  const VulkanOperand operands[] = {reads(from, bytes), writes(to, bytes)};
  return add({}, operands);
}

Fault Recorder::add(Command command, Span<const VulkanOperand> operands) {
  command.node = static_cast<uint32_t>(nodes_ == 0 ? 0 : nodes_ - 1);
  command.first_range = static_cast<uint32_t>(ranges_.size());
  command.range_count = static_cast<uint32_t>(operands.size());
  const uint64_t mask = limits().offset_alignment - 1;
  for (size_t i = 0; i < operands.size(); ++i) {
    const VulkanOperand& operand = operands[i];
    Range range = {};
    range.is_read = operand.is_read;
    range.is_written = operand.is_written;
    // For an operand without elements any word will do: no invocation reads it.
    uint64_t bytes = std::max<uint64_t>((operand.bytes + 3) / 4 * 4, 4);
    LAZYRT_RETURN_IF_ERROR(
        memory_.find(operand.address, bytes, &range.place).with_context("operand of %s", op_));
    range.begin = reinterpret_cast<uintptr_t>(operand.address);
    if ((range.begin & 3) != 0)
      return Fault(Error::kInvalidArgument, "%s: an operand begins in the middle of a word", op_);
    range.end = range.begin + bytes;
    if (command.pipeline != VK_NULL_HANDLE) {
      const uint64_t rest = range.place.offset & mask;
      command.push[i] = static_cast<uint32_t>(rest / 4);
      range.place.offset -= rest;
      range.begin -= rest;  // validation assumes that a shader uses everything that is bound
    }
    LAZYRT_RETURN_IF_ERROR(ranges_.append(range));
  }
  command.waits = must_wait(command.first_range);
  return commands_.append(command);
}

/// Whether memory of the ranges from `first` on was used since the last barrier, or no slot for an
/// error is left.
bool Recorder::must_wait(size_t first) {
  const bool waits = may_fail_ > ErrorBlock::kSlots || is_touched(first);
  if (!waits) return false;
  since_barrier_ = first;
  may_fail_ = std::min(may_fail_, 1U);  // the last code may belong to this command
  return true;
}

bool Recorder::is_touched(size_t first) const {
  for (size_t i = first; i < ranges_.size(); ++i) {
    for (size_t k = since_barrier_; k < first; ++k) {
      const bool overlap = ranges_[i].begin < ranges_[k].end && ranges_[k].begin < ranges_[i].end;
      // Error words are set atomically, in any order.
      const bool same_word = reinterpret_cast<const void*>(ranges_[i].begin) == error_word_;
      if (overlap && !same_word && (ranges_[i].is_written || ranges_[k].is_written)) return true;
    }
  }
  return false;
}

Fault Recorder::emit(const Mark& from, const Mark& to, VkCommandBuffer buffer,
                     VkDescriptorPool pool, VkQueryPool times) const {
  const VulkanApi& api = device_.api();
  uint32_t ended = 0;  // nodes whose time is written
  const auto end_nodes = [&](size_t node) {
    for (; times != VK_NULL_HANDLE && from.nodes + ended < node; ++ended)
      api.CmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times, ended + 1);
  };
  full_barrier(api, buffer);
  if (times != VK_NULL_HANDLE) {
    api.CmdResetQueryPool(buffer, times, 0, static_cast<uint32_t>(to.nodes - from.nodes + 1));
    api.CmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times, 0);
  }
  for (size_t i = from.commands; i < to.commands; ++i) {
    const Command& command = commands_[i];
    end_nodes(command.node);
    if (command.waits && i != from.commands) full_barrier(api, buffer);
    if (command.pipeline == VK_NULL_HANDLE) {
      emit_copy(command, buffer);
    } else {
      LAZYRT_RETURN_IF_ERROR(emit_dispatch(command, buffer, pool));
    }
  }
  end_nodes(to.nodes);
  barrier_to_host(api, buffer);
  return {};
}

void Recorder::emit_copy(const Command& command, VkCommandBuffer buffer) const {
  const Range& from = ranges_[command.first_range];
  const Range& to = ranges_[command.first_range + 1];
  const VkBufferCopy region = {from.place.offset, to.place.offset, from.end - from.begin};
  device_.api().CmdCopyBuffer(buffer, from.place.buffer, to.place.buffer, 1, &region);
}

Fault Recorder::emit_dispatch(const Command& command, VkCommandBuffer buffer,
                              VkDescriptorPool pool) const {
  const VulkanApi& api = device_.api();
  const VkDescriptorSetLayout layout = pipelines_.set_layout();
  VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = pool;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  LAZYRT_VK_RETURN_IF_ERROR(api, AllocateDescriptorSets, device_.handle(), &info, &set);
  VkDescriptorBufferInfo buffers[kMostOperands];
  VkWriteDescriptorSet sets[kMostOperands];
  for (uint32_t i = 0; i < command.range_count; ++i) {
    const Range& range = ranges_[command.first_range + i];
    buffers[i] = {range.place.buffer, range.place.offset, range.end - range.begin};
    sets[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    sets[i].dstSet = set;
    sets[i].dstBinding = i;
    sets[i].descriptorCount = 1;
    sets[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    sets[i].pBufferInfo = &buffers[i];
  }
  api.UpdateDescriptorSets(device_.handle(), command.range_count, sets, 0, nullptr);
  api.CmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, command.pipeline);
  api.CmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_.layout(), 0, 1, &set,
                            0, nullptr);
  api.CmdPushConstants(buffer, pipelines_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       command.push_bytes, command.push);
  api.CmdDispatch(buffer, command.groups.x, command.groups.y, command.groups.z);
  return {};
}

}  // namespace lazyrt
