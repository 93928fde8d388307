#include "runtime/backends/vulkan/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/backends/vulkan/object.h"
#include "runtime/backends/vulkan/segment.h"

namespace lazyrt {

extern const Shader copy_unless_failed_shader;

namespace {

constexpr uint64_t kLeastStaging = uint64_t{1} << 20, kMostStaging = uint64_t{64} << 20;

constexpr uint64_t in_words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

uint8_t* behind(void* address, uint64_t bytes) { return static_cast<uint8_t*>(address) + bytes; }
const uint8_t* behind(const void* address, uint64_t bytes) {
  return static_cast<const uint8_t*>(address) + bytes;
}

void copy_or_clear(uint8_t* to, const void* from, uint64_t bytes) {
  if (from == nullptr) {
    std::memset(to, 0, static_cast<size_t>(bytes));
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

VulkanSession::VulkanSession(VulkanProgram* program, bool timed, const RunStop* stop,
                             const Allocator& allocator)
    : program_(*program),
      allocator_(allocator),
      api_(program->device().api()),
      timed_(timed),
      stop_(stop),
      copies_(program->device(), &program->pipelines(), &program->memory(), allocator),
      batches_(allocator),
      queued_(allocator),
      segments_(allocator),
      readbacks_(allocator) {}

VulkanSession::~VulkanSession() {
  VulkanDevice& gpu = program_.device();
  if (is_running()) drain();
  for (CopyBatch* batch : batches_) {
    batch->recording.release(gpu, pool_);
    destroy_object(batch, allocator_);
  }
  for (Turn& turn : turns_) destroy_fence(&turn.fence);
  if (pool_ != VK_NULL_HANDLE) api_.DestroyCommandPool(gpu.handle(), pool_, nullptr);
  if (error_word_ != nullptr) program_.memory().release(error_word_);
  if (staging_ != nullptr) program_.memory().release(staging_);
}

Fault VulkanSession::make() {
  VulkanDevice& gpu = program_.device();
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = gpu.queue_family();
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateCommandPool, gpu.handle(), &pool, nullptr, &pool_);
  LAZYRT_RETURN_IF_ERROR(make_fence(&turns_[0].fence));
  LAZYRT_RETURN_IF_ERROR(program_.memory().allocate_host(sizeof(ErrorBlock), &error_word_));
  VulkanPlace word;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(error_word_, sizeof(ErrorBlock), &word));
  error_mapped_ = reinterpret_cast<ErrorBlock*>(word.mapped);
  std::memset(error_mapped_, 0xff, sizeof(ErrorBlock));
  copies_.begin(error_word_);
  return {};
}

Fault VulkanSession::end_copies() {
  if (!copies_.has_commands()) return {};
  if (batches_used_ == batches_.size()) LAZYRT_RETURN_IF_ERROR(add_batch());
  CopyBatch& batch = *batches_[batches_used_];
  const uint64_t generation = program_.memory().generation();
  if (batch.generation != generation || !batch.commands.is_same_as(copies_)) {
    batch.commands.swap_commands(copies_);
    batch.generation = kNotRecorded;
    LAZYRT_RETURN_IF_ERROR(
        batch.recording.record(device(), pool_, batch.commands, {}, batch.commands.mark(), false));
    batch.generation = generation;
  }
  ++batches_used_;
  done_.dispatches += batch.commands.dispatches();
  copies_.begin(error_word_);
  return queued_.append(batch.recording.buffer);
}

Fault VulkanSession::add_batch() {
  auto* batch = make_object<CopyBatch>(allocator_, &program_, allocator_);
  if (batch == nullptr) return Fault(Error::kOutOfMemory, "no memory for the vulkan backend");
  const Fault kept = batches_.append(batch);
  if (!kept.ok()) destroy_object(batch, allocator_);
  return kept;
}

Fault VulkanSession::submit(const VulkanSegment* segment) {
  if (!error_.ok() || !segment->has_work()) return {};
  LAZYRT_RETURN_IF_ERROR(stage_readbacks());
  LAZYRT_RETURN_IF_ERROR(end_copies());
  LAZYRT_RETURN_IF_ERROR(segments_.append(segment));
  for (const VulkanPart& part : segment->parts()) {
    if (!part.has_work) continue;
    if (queued_work_.steps() != 0 && !fits(queued_work_, part.work)) begin_submission();
    if (!error_.ok()) return {};
    LAZYRT_RETURN_IF_ERROR(queued_.append(part.recording.buffer));
    queued_work_ = queued_work_ + part.work;
    done_.dispatches += part.dispatches;
  }
  return {};
}

/// Submits what is queued. If a node has failed or the run is to be stopped, ends the run here.
void VulkanSession::begin_submission() {
  const Fault fault = submit_long_work();
  if (!fault.ok()) {
    error_.add(fault);
    queued_.clear();
    copies_.begin(error_word_);
    return drain();
  }
  // Shaders may be writing it; drain() reads it again when they have ended.
  const volatile uint32_t& code = error_mapped_->code;
  const bool has_failed = code != ErrorBlock::kNoError;
  const bool is_stopped = stop_ != nullptr && stop_->is_due();
  if (!has_failed && !is_stopped) return;
  drain();
  if (is_stopped) error_.add(stop_->status());
}

/// Submits, then waits for the submission before it: two at a time keep the device busy, and other
/// users of the queue wait for no more than two.
Fault VulkanSession::submit_long_work() {
  LAZYRT_RETURN_IF_ERROR(start_turn());
  return wait_for(&turns_[next_turn_]);
}

/// Finds room in the staging memory. REQUIRES: bytes <= kMostStaging.
Fault VulkanSession::stage(uint64_t bytes, uint64_t* offset) {
  if (staging_bytes_ - staged_ < bytes) LAZYRT_RETURN_IF_ERROR(make_room(bytes));
  *offset = staged_;
  staged_ += in_words(bytes);
  return {};
}

/// Finishes the work that uses the staging memory, and doubles it.
Fault VulkanSession::make_room(uint64_t bytes) {
  drain();
  const uint64_t wanted =
      std::min(std::max({kLeastStaging, in_words(bytes), 2 * staging_bytes_}), kMostStaging);
  if (staging_bytes_ == wanted) return {};
  void* larger = nullptr;
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().allocate_host(wanted, &larger));
  if (staging_ != nullptr) program_.memory().release(staging_);
  staging_ = larger;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(staging_, wanted, &place));
  staging_mapped_ = place.mapped;
  staging_bytes_ = wanted;
  return {};
}

Fault VulkanSession::copy_in(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0 || !error_.ok()) return {};
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(to, bytes, &place));
  done_.bytes_in += bytes;
  if (place.mapped != nullptr && is_idle() && readbacks_.empty()) {
    copy_or_clear(place.mapped, from, bytes);
    return {};
  }
  LAZYRT_RETURN_IF_ERROR(stage_readbacks());
  for (uint64_t done = 0; done < bytes; done += kMostStaging) {
    const uint64_t piece = std::min(bytes - done, kMostStaging);
    uint64_t staged = 0;
    LAZYRT_RETURN_IF_ERROR(stage(piece, &staged));
    copy_or_clear(staging_mapped_ + staged, from == nullptr ? nullptr : behind(from, done), piece);
    LAZYRT_RETURN_IF_ERROR(copies_.copy(behind(to, done), behind(staging_, staged), piece));
  }
  return {};
}

Fault VulkanSession::copy_out(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0 || !error_.ok()) return {};
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(from, bytes, &place));
  done_.bytes_out += bytes;
  for (uint64_t done = 0; done < bytes; done += kMostStaging) {
    const uint64_t piece = std::min(bytes - done, kMostStaging);
    Readback readback = {static_cast<uint8_t*>(to) + done, behind(from, done),
                         place.mapped == nullptr ? nullptr : place.mapped + done, piece, false};
    if (place.mapped == nullptr) LAZYRT_RETURN_IF_ERROR(stage_readback(&readback));
    LAZYRT_RETURN_IF_ERROR(readbacks_.append(readback));
  }
  return {};
}

Fault VulkanSession::stage_readback(Readback* readback) {
  uint64_t staged = 0;
  LAZYRT_RETURN_IF_ERROR(stage(readback->bytes, &staged));
  readback->is_staged = true;
  readback->mapped = staging_mapped_ + staged;
  return copies_.copy(behind(staging_, staged), readback->from, readback->bytes);
}

/// Later work may overwrite what has to be read back.
Fault VulkanSession::stage_readbacks() {
  for (size_t i = 0; i < readbacks_.size(); ++i) {  // to make room may finish all
    if (!readbacks_[i].is_staged) LAZYRT_RETURN_IF_ERROR(stage_readback(&readbacks_[i]));
  }
  return {};
}

/// Not behind an error of a node.
Fault VulkanSession::copy(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return {};
  LAZYRT_RETURN_IF_ERROR(stage_readbacks());
  if (!error_.ok()) return {};
  struct Push {
    uint32_t words;
  };
  const Push push = {static_cast<uint32_t>(in_words(bytes) / 4)};
  const VulkanOperand operands[] = {reads(from, bytes), writes(to, bytes), copies_.error_word()};
  return copies_.dispatch(copy_unless_failed_shader, {}, operands, push,
                          copies_.linear((push.words + uint64_t{3}) / 4));
}

Fault VulkanSession::start(VkFence fence) {
  LAZYRT_RETURN_IF_ERROR(end_copies());
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(queued_.size());
  info.pCommandBuffers = queued_.data();
  LAZYRT_RETURN_IF_ERROR(device().submit(info, fence));
  queued_.clear();
  queued_work_ = {};
  is_flushed_ = fence == VK_NULL_HANDLE;
  return {};
}

Fault VulkanSession::flush() { return is_queued() ? start(VK_NULL_HANDLE) : Fault(); }

/// Submits with a fence, which is signalled when this and all earlier submissions have ended.
Fault VulkanSession::start_turn() {
  Turn& turn = turns_[next_turn_];
  if (turn.fence == VK_NULL_HANDLE) LAZYRT_RETURN_IF_ERROR(make_fence(&turn.fence));
  LAZYRT_RETURN_IF_ERROR(start(turn.fence));
  turn.is_running = true;
  next_turn_ = 1 - next_turn_;
  return {};
}

Fault VulkanSession::wait_for(Turn* turn) {
  if (!turn->is_running) return {};
  LAZYRT_RETURN_IF_ERROR(device().wait(turn->fence));
  turn->is_running = false;
  // start_turn() makes another fence if there is none.
  if (api_.ResetFences(device().handle(), 1, &turn->fence) != VK_SUCCESS)
    destroy_fence(&turn->fence);
  return {};
}

Fault VulkanSession::wait(size_t* node) {
  drain();
  const Fault error = error_;
  if (!error.ok()) *node = error_node_;
  error_ = FirstFault();
  error_node_ = 0;
  return error;
}

void VulkanSession::drain() {
  if (is_idle() && readbacks_.empty() && segments_.empty() && !is_lost_) return;
  const Fault fault = is_idle() && !is_lost_ ? Fault() : finish();
  error_.add(fault);
  for (const Readback& readback : readbacks_)
    std::memcpy(readback.to, readback.mapped, static_cast<size_t>(readback.bytes));
  readbacks_.clear();
  queued_.clear();
  queued_work_ = {};
  segments_.clear();
  copies_.begin(error_word_);
  batches_used_ = 0;
  staged_ = 0;
  device().count(done_);
  done_ = {};
}

Fault VulkanSession::finish() {
  if (is_lost_) return Fault(Error::kInternal, "the device is lost: create the backend again");
  FirstFault first;
  first.add(wait_for_all());
  // What was submitted before the error may still be running.
  if (!first.ok() && is_running()) is_lost_ = !device().wait_idle().ok();
  for (Turn& turn : turns_) {
    if (turn.is_running) destroy_fence(&turn.fence);
    turn.is_running = false;
  }
  is_flushed_ = false;
  next_turn_ = 0;
  LAZYRT_RETURN_IF_ERROR(first);
  return read_error_word();
}

/// Submits what is queued and waits for everything.
Fault VulkanSession::wait_for_all() {
  if (is_queued() || is_flushed_) LAZYRT_RETURN_IF_ERROR(start_turn());
  LAZYRT_RETURN_IF_ERROR(wait_for(&turns_[next_turn_]));  // the earlier one, if there are two
  return wait_for(&turns_[1 - next_turn_]);
}

Fault VulkanSession::make_fence(VkFence* fence) {
  const VkFenceCreateInfo info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  return vulkan_fault(api_.CreateFence(device().handle(), &info, nullptr, fence), "vkCreateFence");
}

void VulkanSession::destroy_fence(VkFence* fence) {
  if (*fence != VK_NULL_HANDLE) api_.DestroyFence(device().handle(), *fence, nullptr);
  *fence = VK_NULL_HANDLE;
}

Fault VulkanSession::read_error_word() {
  const uint32_t code = error_mapped_->code;
  if (code == ErrorBlock::kNoError) return {};
  const ErrorBlock::Slot found = error_mapped_->slots[code % ErrorBlock::kSlots];
  const auto value = static_cast<int64_t>(uint64_t{found.value_high} << 32 | found.value_low);
  std::memset(error_mapped_, 0xff, sizeof(ErrorBlock));
  for (const VulkanSegment* segment : segments_) {
    if (const Recorder::Failure* failure = segment->find_failure(code)) {
      if (error_.ok()) error_node_ = failure->node;
      return failure->fault.make(failure->fault, found.position, value)
          .with_context("node %zu (%s)", failure->node, failure->op);
    }
  }
  return Fault(Error::kInternal, "the device set an unknown error %u", code);
}

}  // namespace lazyrt
