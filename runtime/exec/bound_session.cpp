#include "runtime/exec/bound_session.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>

#include "runtime/core/profile.h"
#include "runtime/core/sort.h"
#include "runtime/platform/threads.h"

namespace lazyrt {
namespace {

/// The reasons why none of several variants ran, each with its share of the message.
class Reasons {
 public:
  Reasons(const char* method, size_t variants)
      : share_(static_cast<int>(std::max<size_t>(150 / variants, 24))) {
    used_ = snprintf(text_, sizeof(text_), "no variant of method '%.30s' takes this input", method);
  }
  void add(size_t variant, const char* why) {
    const auto used = static_cast<size_t>(used_);
    if (used >= sizeof(text_)) return;
    used_ += snprintf(text_ + used, sizeof(text_) - used, "%s %zu: %.*s", count_++ == 0 ? ":" : ";",
                      variant, share_, why);
  }
  Fault status() const { return Fault(Error::kGuardFailed, "%s", text_); }

 private:
  char text_[Status::kMessageBytes];
  int used_ = 0;
  int share_;
  int count_ = 0;
};

uint64_t sum_of(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace

Fault wrong_output_size(const fb::Method& method, size_t i, const TensorView& output,
                        size_t writable) {
  return Fault(Error::kInvalidArgument, "output '%.60s' takes %zu bytes (%s%s), %zu are writable",
               output_name(method, i), output.bytes(), dtype_name(output.dtype),
               shape_text(output.shape).text, writable);
}

BoundSession::~BoundSession() {
  for (const InputSlot& slot : inputs_) {
    if (slot.stage != nullptr) allocator_.release(allocator_.context, slot.stage);
  }
  for (size_t v = 0; v < variant_count_; ++v) variants_[v].~SessionVariant();
  if (variants_ != nullptr) allocator_.release(allocator_.context, variants_);
}

Fault BoundSession::make(Span<const int64_t> symbols) {
  LAZYRT_RETURN_IF_ERROR(find_variants(symbols));
  if (!kDynamicShapes || is_as_in_file(symbols)) return make_of(base_.program);
  BoundProgram bound{};
  LAZYRT_RETURN_IF_ERROR(bound.make(base_.program, allocator_));
  LAZYRT_RETURN_IF_ERROR(bound.bind(base_.method, symbols, base_.stop));
  return make_of(bound.state());
}

/// REQUIRES: one takes the sizes.
Fault BoundSession::find_variants(Span<const int64_t> symbols) {
  const size_t all = base_.program.variant_count(base_.method);
  const auto takes = [&](size_t v) {
    return !kDynamicShapes || takes_sizes(base_.program.variant(base_.method, v), symbols);
  };
  for (const bool are_listed : {false, true}) {
    size_t count = 0;
    for (size_t v = 0; v < all; ++v) {
      if (!takes(v)) continue;
      if (are_listed) in_file_[count] = static_cast<uint32_t>(v);
      ++count;
    }
    if (!are_listed) in_file_ = pool_.make<uint32_t>(count);
    if (pool_.is_short()) return no_memory_for_session();
  }
  return {};
}

bool BoundSession::is_as_in_file(Span<const int64_t> symbols) const {
  for (const uint32_t v : in_file_) {
    int64_t sizes[kBundleMaxSymbols] = {};
    read_file_sizes(base_.program.variant(base_.method, v), sizes);
    if (!std::equal(symbols.begin(), symbols.end(), sizes)) return false;
  }
  return true;
}

Fault BoundSession::make_of(const ProgramState& program) {
  LAZYRT_RETURN_IF_ERROR(find_sizes(program));
  LAZYRT_RETURN_IF_ERROR(check_memory_limit());
  LAZYRT_RETURN_IF_ERROR(make_variants(program));
  LAZYRT_RETURN_IF_ERROR(find_homes(program));
  LAZYRT_RETURN_IF_ERROR(list_steps(program));
  LAZYRT_RETURN_IF_ERROR(make_device_memory());
  LAZYRT_RETURN_IF_ERROR(make_memory());
  const SharedMemory memory = shared_memory();
  for (size_t v = 0; v < variant_count_; ++v) {
    LAZYRT_RETURN_IF_ERROR(
        variants_[v].make_values(variant_in(program, v), memory, base_.options.profile));
  }
  return make_inputs();
}

Fault BoundSession::make_variants(const ProgramState& program) {
  const size_t count = in_file_.size();
  void* memory = allocator_.allocate(allocator_.context, count * sizeof(SessionVariant),
                                     alignof(SessionVariant));
  if (memory == nullptr) return no_memory_for_session();
  variants_ = static_cast<SessionVariant*>(memory);
  for (; variant_count_ < count; ++variant_count_)
    new (variants_ + variant_count_) SessionVariant();
  for (size_t v = 0; v < count; ++v) {
    const Fault status = variants_[v].make_plan(
        program, in_file_[v], count == 1, variant_in(program, v), variant_in(base_.program, v),
        base_.options, base_.memory, base_.services, *base_.stop, &pool_);
    if (!status.ok())
      return in_file_[v] == 0 ? status : status.with_context("variant %u", in_file_[v]);
  }
  return {};
}

/// A state lives in a device's space if all programs read and make it there and that device can
/// copy; else on the host.
Fault BoundSession::find_homes(const ProgramState& program) {
  if (!kDevices) return {};
  const size_t count = count_of(method().states());
  homes_ = pool_.make<uint8_t>(count);
  const void* kept = pool_.last();
  const auto homes = pool_.make<StateHome>(count);
  if (pool_.is_short()) return no_memory_for_session();
  if (count == 0) return {};
  for (size_t v = 0; v < variant_count_; ++v)
    LAZYRT_RETURN_IF_ERROR(variants_[v].narrow_homes(variant_in(program, v), homes));
  for (size_t k = 0; k < count; ++k) {
    for (int slot = 0; slot < kDeviceSlots; ++slot) {
      const int space = space_of_slot(slot);
      const bool fits = ((homes[k].allowed & homes[k].wanted) >> space & 1) != 0;
      if (fits && base_.services->slot(slot).backend->device->copy != nullptr)
        homes_[k] = static_cast<uint8_t>(space);
      has_homes_ = has_homes_ || homes_[k] != kHostSpace;
    }
  }
  pool_.forget_since(kept);
  return {};
}

Fault BoundSession::list_steps(const ProgramState& program) {
  if (kIsFixed) return {};
  for (size_t v = 0; v < variant_count_; ++v) {
    LAZYRT_RETURN_IF_ERROR(variants_[v].make_steps_list(program, variant_in(program, v),
                                                        base_.options, base_.memory, homes_));
  }
  return {};
}

/// Finds the size of the one arena: that of the largest variant.
Fault BoundSession::find_sizes(const ProgramState& program) {
  for (size_t v = 0; v < in_file_.size(); ++v) {
    const uint64_t arena = variant_in(program, v).arena_bytes();
    arena_bytes_ = std::max(arena_bytes_, arena);
  }
  inputs_ = pool_.make<InputSlot>(count_of(method().inputs()));
  if (pool_.is_short()) return no_memory_for_session();
  input_bytes_ = input_block_bytes(program);
  return {};
}

Fault BoundSession::check_memory_limit() const {
  const uint64_t state_bytes = base_.states->is_made() ? 0 : base_.states->bytes();
  if (base_.reservation != nullptr && arena_bytes_ <= base_.reservation->arena.bytes()) return {};
  if (base_.memory->fits(sum_of(arena_bytes_, sum_of(input_bytes_, state_bytes)))) return {};
  return Fault(Error::kOutOfMemory,
               "method '%.60s': arena of %" PRIu64 ", inputs of %" PRIu64 " and states of %" PRIu64
               " bytes exceed SessionOptions::memory_limit of %" PRIu64,
               text_of(method().name()), arena_bytes_, input_bytes_, base_.states->bytes(),
               base_.memory->limit());
}

/// As large as the largest variant's.
uint64_t BoundSession::workspace_of(int space) const {
  uint64_t workspace = 0;
  for (size_t v = 0; v < variant_count_; ++v)
    workspace = std::max(workspace, variants_[v].workspace_bytes(space));
  return workspace;
}

/// Whether the host's arena may lie in that space: what runs on the host would have to wait for
/// what runs there.
bool BoundSession::can_map(int space) const {
  const uint8_t* host = devices_[slot_of_space(space)].memory().host_arena;
  if (host == nullptr || base_.reservation != nullptr) return false;
  for (size_t v = 0; v < variant_count_; ++v) {
    if (!variants_[v].runs_only_in(space)) return false;
  }
  return true;
}

/// Takes memory in each space that a variant uses besides the host's.
Fault BoundSession::make_device_memory() {
  LAZYRT_RETURN_IF_ERROR(base_.states->make());
  if (!kDevices) return {};
  for (int slot = 0; slot < kDeviceSlots; ++slot) {
    const int space = space_of_slot(slot);
    bool used = false;
    for (size_t v = 0; v < variant_count_; ++v) used = used || variants_[v].uses(space);
    if (!used) continue;
    const SpaceBytes bytes = {arena_bytes_, workspace_of(space)};
    LAZYRT_RETURN_IF_ERROR(
        devices_[slot].make(base_.services->slot(slot), bytes, base_.blocks[slot], base_.memory));
    if (can_map(space)) mapped_ = static_cast<uint8_t>(space);
    LAZYRT_RETURN_IF_ERROR(base_.states->make_in(slot, base_.memory));
  }
  return {};
}

SharedMemory BoundSession::shared_memory() const {
  SharedMemory memory;
  SpaceMemory& host = memory.spaces[kHostSpace];
  host.arena = arena_.data;
  host.states = base_.states->on_host();
  host.workspace = workspace_.data;
  host.constants = base_.program.sections.constants.data();
  for (int slot = 0; kDevices && slot < kDeviceSlots; ++slot) {
    memory.spaces[space_of_slot(slot)] = devices_[slot].memory();
    if (space_of_slot(slot) != mapped_) memory.spaces[space_of_slot(slot)].host_arena = nullptr;
    memory.spaces[space_of_slot(slot)].states = base_.states->block_in(slot).data();
  }
  memory.states = base_.states->offsets();
  memory.arena_bytes = arena_bytes_;
  return memory;
}

Fault BoundSession::make_memory() {
  const Reservation* reserved = base_.reservation;
  if (kDevices && mapped_ != kHostSpace) {
    arena_ = {devices_[slot_of_space(mapped_)].memory().host_arena, arena_bytes_};
  } else {
    LAZYRT_RETURN_IF_ERROR(borrow_or_make(reserved == nullptr ? nullptr : &reserved->arena,
                                          arena_bytes_, allocator_, "the arena", &own_arena_,
                                          &arena_));
  }
  if (input_bytes_ != 0) {
    LAZYRT_RETURN_IF_ERROR(borrow_or_make(reserved == nullptr ? nullptr : &reserved->inputs,
                                          input_bytes_, allocator_, "the inputs", &own_inputs_,
                                          &input_room_));
  }
  uint64_t workspace = workspace_of(kHostSpace);
  if (workspace != 0) {
    if (workspace > UINT64_MAX - kTailBytes) workspace -= kTailBytes;  // refused as it is
    LAZYRT_RETURN_IF_ERROR(borrow_or_make(reserved == nullptr ? nullptr : &reserved->workspace,
                                          workspace + kTailBytes, allocator_, "the workspace",
                                          &own_workspace_, &workspace_));
  }
  return needs_states_on_host() ? base_.states->make_on_host() : Fault();
}

/// Whether some states live on the host or are outputs.
bool BoundSession::needs_states_on_host() const {
  if (!kDevices) return true;
  bool needs = false;
  for (const uint8_t home : homes_) needs = needs || home == kHostSpace;
  for (size_t v = 0; v < variant_count_; ++v) needs = needs || variants_[v].copies_states();
  return needs;
}

/// Finds the room of each input, and returns that of all. With one variant it is 0 unless inputs
/// are reserved: the arena has them.
uint64_t BoundSession::input_block_bytes(const ProgramState& program) {
  const size_t variants = in_file_.size();
  uint64_t total = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (size_t v = 0; v < variants; ++v) {
      const fb::Method& m = variant_in(program, v);
      const int32_t id = input_at(m, i).value();
      inputs_[i].room = std::max<uint64_t>(inputs_[i].room, value_at(m, id).bytes());
    }
    if (base_.reservation != nullptr)
      inputs_[i].room = std::max(inputs_[i].room, base_.reservation->input_bytes[i]);
    total = sum_of(total, room_of(inputs_[i].room));
  }
  return variants == 1 && base_.reservation == nullptr ? 0 : total;
}

Fault BoundSession::make_inputs() {
  uint8_t* next = input_room_.data;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (input_bytes_ == 0) {
      inputs_[i].copy = static_cast<uint8_t*>(variants_[0].input(i).data);
      continue;
    }
    inputs_[i].copy = next;
    next += room_of(inputs_[i].room);
  }
  const size_t outputs = variants_[0].output_count();
  by_address_ = pool_.make<uint32_t>(inputs_.size());
  begins_ = pool_.make<uintptr_t>(outputs == 0 ? 0 : inputs_.size());
  ends_ = pool_.make<uintptr_t>(begins_.size());
  results_ = pool_.make<void*>(outputs);
  in_place_ = pool_.make<bool>(variant_count_ * outputs);
  if (pool_.is_short()) return no_memory_for_session();
  for (size_t i = 0; i < inputs_.size(); ++i) by_address_[i] = static_cast<uint32_t>(i);
  sort(by_address_, [&](uint32_t a, uint32_t b) { return inputs_[a].copy < inputs_[b].copy; });
  return {};
}

Fault BoundSession::no_input(size_t i) const {
  return Fault(Error::kInvalidArgument, "there is no input %zu, the method has %zu", i,
               inputs_.size());
}

/// "input 'x' takes f32[2,3] or f32[4,3], got ..."
Fault BoundSession::wrong_input(size_t i, const char* given) const {
  char wanted[120];
  size_t used = 0;
  for (size_t v = 0; LAZYRT_MESSAGES != 0 && v < variant_count_ && used < sizeof(wanted); ++v) {
    const TensorView& x = variants_[v].input(i);
    bool repeated = false;
    for (size_t w = 0; w < v; ++w) repeated = repeated || variants_[w].input(i).shape == x.shape;
    if (repeated) continue;
    used += static_cast<size_t>(snprintf(wanted + used, sizeof(wanted) - used, "%s%s%s",
                                         v == 0 ? "" : " or ", dtype_name(x.dtype),
                                         shape_text(x.shape).text));
  }
  return Fault(Error::kInvalidArgument, "input '%.60s' takes %s, got %s", input_name(method(), i),
               wanted, given);
}

/// Finds the only shape of input i that has this many bytes.
Fault BoundSession::find_shape(size_t i, size_t bytes, Shape* shape) const {
  bool found = false;
  for (size_t v = 0; v < variant_count_; ++v) {
    const TensorView& x = variants_[v].input(i);
    if (x.bytes() != bytes) continue;
    if (found && *shape != x.shape) {
      return Fault(Error::kInvalidArgument,
                   "input '%.60s': %zu bytes are %s as well as %s: set it as a tensor",
                   input_name(method(), i), bytes, shape_text(*shape).text,
                   shape_text(x.shape).text);
    }
    *shape = x.shape;
    found = true;
  }
  if (found) return {};
  const TensorView& x = variants_[0].input(i);
  if (variant_count_ == 1) {
    return Fault(Error::kInvalidArgument, "input '%.60s' takes %zu bytes (%s%s), got %zu",
                 input_name(method(), i), x.bytes(), dtype_name(x.dtype), shape_text(x.shape).text,
                 bytes);
  }
  char given[32];
  if (LAZYRT_MESSAGES != 0) snprintf(given, sizeof(given), "%zu bytes", bytes);
  return wrong_input(i, given);
}

Fault BoundSession::set_input(size_t i, const Shape* shape, const void* data, size_t bytes) {
  if (i >= inputs_.size()) return no_input(i);
  Shape found;
  if (shape != nullptr) {
    found = *shape;
  } else {
    LAZYRT_RETURN_IF_ERROR(find_shape(i, bytes, &found));
  }
  if (data == nullptr && bytes != 0) {
    return Fault(Error::kInvalidArgument, "input '%.60s': data is null", input_name(method(), i));
  }
  InputSlot& slot = inputs_[i];
  inputs_moved_ = inputs_moved_ || slot.bound != nullptr;
  slot.shape = found;
  slot.bytes = bytes;
  slot.set = true;
  slot.bound = nullptr;
  slot.copy_at_run = false;
  slot.is_staged = false;
  slot.is_overwritten = false;
  slot.reads_state = false;
  if (bytes != 0) std::memmove(slot.copy, data, bytes);  // data may be a view of this input
  return {};
}

Fault BoundSession::check_input(size_t i, const TensorView& tensor) const {
  if (i >= inputs_.size()) return no_input(i);
  for (size_t v = 0; v < variant_count_; ++v) {
    const TensorView& wanted = variants_[v].input(i);
    if (tensor.dtype == wanted.dtype && tensor.shape == wanted.shape) return {};
  }
  char given[sizeof(ShapeText) + 8];
  if (LAZYRT_MESSAGES != 0)
    snprintf(given, sizeof(given), "%s%s", dtype_name(tensor.dtype), shape_text(tensor.shape).text);
  return wrong_input(i, given);
}

Fault BoundSession::bind_input(size_t i, const TensorView& tensor, size_t readable) {
  LAZYRT_RETURN_IF_ERROR(check_input(i, tensor));
  const size_t bytes = tensor.bytes();
  if (tensor.data == nullptr || readable < bytes) {
    return Fault(Error::kInvalidArgument, "input '%.60s' takes %zu bytes, %zu are readable",
                 input_name(method(), i), bytes, tensor.data == nullptr ? size_t{0} : readable);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data) % kAlignment == 0;
  const bool has_tail = readable - bytes >= kTailBytes;
  const bool is_own = is_own_memory(tensor.data, bytes, kHostSpace);
  const bool is_staged = is_own && is_an_input_copy(tensor.data, bytes);
  const bool reads_state = is_own && !is_bound_memory(tensor.data, bytes);
  InputSlot& slot = inputs_[i];
  if (is_staged) LAZYRT_RETURN_IF_ERROR(make_stage(&slot));
  slot.shape = tensor.shape;
  slot.bytes = bytes;
  slot.set = true;
  slot.bound = tensor.data;
  slot.readable = readable;
  slot.copy_at_run = is_own || !(aligned && has_tail);
  slot.is_staged = is_staged;
  slot.reads_state = reads_state;
  inputs_moved_ = true;
  return {};
}

bool BoundSession::is_own_memory(const void* data, size_t bytes, int space) const {
  if (kDevices && space != kHostSpace) {
    const DeviceMemory& device = devices_[slot_of_space(space)];
    const DeviceBlock& states = base_.states->block_in(slot_of_space(space));
    return overlap(data, bytes, device.memory().arena, device.bytes()) ||
           overlap(data, bytes, states.data(), states.bytes());
  }
  const StateMemory& states = *base_.states;
  return is_bound_memory(data, bytes) ||
         (states.on_host() != nullptr && overlap(data, bytes, states.on_host(), states.bytes()));
}

bool BoundSession::is_bound_memory(const void* data, size_t bytes) const {
  for (const Room* room : {&arena_, &workspace_, &input_room_}) {
    if (overlap(data, bytes, room->data, room->bytes)) return true;
  }
  return false;
}

Fault BoundSession::check_movable() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    if (slot.bound == nullptr || !is_bound_memory(slot.bound, slot.bytes)) continue;
    return Fault(Error::kFailedPrecondition,
                 "input '%.60s' is bound to memory of this session, which moves with the shapes of "
                 "its inputs: set it instead",
                 input_name(method(), i));
  }
  return {};
}

Fault BoundSession::take_input(size_t i, const BoundSession& other) {
  const InputSlot& from = other.inputs_[i];
  if (from.bound == nullptr) return set_input(i, &from.shape, from.copy, from.bytes);
  const TensorView tensor = {const_cast<void*>(from.bound), input(i).dtype, from.shape};
  return bind_input(i, tensor, from.readable);
}

/// The copies do not overlap: of those that begin before the end, only the last may share a byte.
bool BoundSession::is_an_input_copy(const void* data, size_t bytes) const {
  const uint8_t* end = static_cast<const uint8_t*>(data) + bytes;
  const uint32_t* next = std::lower_bound(
      by_address_.begin(), by_address_.end(), end,
      [&](uint32_t i, const uint8_t* at) { return std::less<>()(inputs_[i].copy, at); });
  if (next == by_address_.begin()) return false;
  const InputSlot& last = inputs_[next[-1]];
  return overlap(data, bytes, last.copy, last.room);
}

Fault BoundSession::make_stage(InputSlot* slot) {
  if (slot->stage != nullptr) return {};
  slot->stage = static_cast<uint8_t*>(allocator_.allocate(
      allocator_.context, static_cast<size_t>(room_of(slot->room)), kAlignment));
  return slot->stage == nullptr ? no_memory_for_session() : Fault();
}

/// Copies states to the host if an input is bound to one.
Fault BoundSession::bring_states_for_inputs() {
  bool are_inputs = false;
  for (const InputSlot& slot : inputs_) are_inputs = are_inputs || slot.reads_state;
  for (size_t k = 0; are_inputs && k < homes_.size(); ++k)
    LAZYRT_RETURN_IF_ERROR(base_.states->bring(k, kHostSpace));
  return {};
}

/// To where the nodes read them.
Fault BoundSession::bring_states() {
  uint32_t spaces = 0;
  FirstFault first;
  for (size_t k = 0; first.ok() && k < homes_.size(); ++k) {
    spaces |= homes_[k] == kHostSpace ? 0 : 1U << homes_[k];
    first.add(base_.states->bring(k, homes_[k]));
  }
  if (!first.ok()) (void)wait_for(spaces);
  return first;
}

Fault BoundSession::prepare_inputs() {
  if (kDevices && base_.states->were_elsewhere()) LAZYRT_RETURN_IF_ERROR(bring_states_for_inputs());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    if (!slot.set) {
      return Fault(Error::kFailedPrecondition, "input '%.100s' was never set",
                   input_name(method(), i));
    }
    if (slot.is_staged) std::memcpy(slot.stage, slot.bound, slot.bytes);
  }
  for (const InputSlot& slot : inputs_) {
    const void* from = slot.is_staged ? slot.stage : slot.bound;
    const bool copies = slot.copy_at_run || slot.is_overwritten;
    if (copies && slot.bytes != 0) std::memcpy(slot.copy, from, slot.bytes);
  }
  return {};
}

bool BoundSession::fits(const SessionVariant& variant, size_t* wrong) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (variant.input(i).shape == inputs_[i].shape) continue;
    *wrong = i;
    return false;
  }
  return true;
}

void BoundSession::point_inputs(SessionVariant* variant) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    const bool in_place = slot.bound != nullptr && !slot.copy_at_run && !slot.is_overwritten;
    variant->point_input(i, in_place ? const_cast<void*>(slot.bound) : slot.copy);
  }
}

/// Memory of the session is among it.
void BoundSession::list_copied() {
  copied_count_ = 0;
  for (const InputSlot& slot : inputs_) {
    if (slot.bound == nullptr || !slot.copy_at_run) continue;
    begins_[copied_count_] = reinterpret_cast<uintptr_t>(slot.bound);
    ends_[copied_count_] = begins_[copied_count_] + slot.bytes;
    ++copied_count_;
  }
  for (const Span<uintptr_t>& list : {begins_, ends_})
    sort(list.subspan(0, copied_count_), std::less<>());
}

/// Whether an input is bound to some of this memory of the session, so that the next run reads what
/// is there. It is, unless each input begins behind the memory or ends before it.
bool BoundSession::is_read_back(const void* data, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto below = [this](const Span<uintptr_t>& list, uintptr_t end) {
    return std::lower_bound(list.begin(), list.begin() + copied_count_, end) - list.begin();
  };
  return below(begins_, begin + bytes) > below(ends_, begin + 1);
}

/// Decides which outputs nodes write where they are bound, and which bound inputs that would
/// overwrite.
void BoundSession::settle_outputs() {
  const OutputBindings& outputs = *base_.outputs;
  for (InputSlot& slot : inputs_)
    slot.is_overwritten = slot.bound != nullptr &&
                          outputs.overlap({static_cast<uint8_t*>(const_cast<void*>(slot.bound)),
                                           slot.bytes, kHostSpace});
  list_copied();
  for (size_t v = 0; v < variant_count_; ++v) {
    SessionVariant& variant = variants_[v];
    variant.release_outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const OutputBinding& binding = outputs[i];
      const size_t bytes = variant.output(i).bytes();
      in_place_[v * outputs.size() + i] = binding.is_bound() && binding.takes_in_place(bytes) &&
                                          !is_read_back(variant.home_of_output(i), bytes) &&
                                          variant.bind_output(i, binding.data, binding.space);
    }
  }
  settled_version_ = outputs.version();
  inputs_moved_ = false;
}

bool BoundSession::takes_output(size_t i, size_t writable, TensorView* least) const {
  for (size_t v = 0; v < variant_count_; ++v) {
    const TensorView& output = variants_[v].output(i);
    if (v == 0 || output.bytes() < least->bytes()) *least = output;
  }
  return writable >= least->bytes();
}

Fault BoundSession::check_output_sizes(const SessionVariant& variant) const {
  const OutputBindings& outputs = *base_.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& output = variant.output(i);
    if (!outputs[i].is_bound() || outputs[i].writable >= output.bytes()) continue;
    return wrong_output_size(method(), i, output, outputs[i].writable);
  }
  return {};
}

Fault BoundSession::run_variant(size_t v, const RunStop& stop) {
  const Fault status = try_variant(v, stop);
  if (kDevices && !status.ok()) base_.states->forget_brought();
  return status;
}

Fault BoundSession::try_variant(size_t v, const RunStop& stop) {
  if (base_.outputs->count() != 0) LAZYRT_RETURN_IF_ERROR(check_output_sizes(variants_[v]));
  point_inputs(&variants_[v]);
  if (kDevices && (has_homes_ || base_.states->were_elsewhere()))
    LAZYRT_RETURN_IF_ERROR(bring_states());
  LAZYRT_RETURN_IF_ERROR(variants_[v].run(stop));
  WatchedSpan outputs(base_.options.watch, RunSpan::Kind::kOutputs);
  LAZYRT_RETURN_IF_ERROR(outputs.end(keep_results(variants_[v])));
  ran_ = static_cast<int32_t>(v);
  return {};
}

Fault BoundSession::run(const RunStop& stop) {
  ran_ = -1;
  if (base_.outputs->version() != settled_version_ ||
      (inputs_moved_ && base_.outputs->count() != 0)) {
    settle_outputs();
  }
  WatchedSpan inputs(base_.options.watch, RunSpan::Kind::kInputs);
  LAZYRT_RETURN_IF_ERROR(inputs.end(prepare_inputs()));
  if (variant_count_ == 1) {
    const Fault status = run_variant(0, stop);
    if (!variants_[0].broke_guard()) return status;
    if (variants_[0].guards().is_failed_check()) return variants_[0].why_broken();
    return variants_[0].why_broken().with_context(
        "this input takes another path than the exported one");
  }
  for (size_t v = 0; v < variant_count_; ++v) {
    size_t wrong = 0;
    if (!fits(variants_[v], &wrong)) continue;
    const Fault status = run_variant(v, stop);
    if (status.ok()) return status;
    if (!variants_[v].broke_guard()) return status.with_context("variant %u", in_file_[v]);
  }
  return why_none_ran();
}

/// REQUIRES: all variants that fit were tried, and each broke a guard.
Fault BoundSession::why_none_ran() const {
  if (LAZYRT_MESSAGES == 0) return Fault(Error::kGuardFailed, "no variant takes this input");
  Reasons reasons(text_of(method().name()), variant_count_);
  for (size_t v = 0; v < variant_count_; ++v) {
    size_t wrong = 0;
    if (fits(variants_[v], &wrong)) {
      reasons.add(in_file_[v], variants_[v].why_broken().message());
      continue;
    }
    const TensorView& x = variants_[v].input(wrong);
    reasons.add(in_file_[v],
                Fault(Error::kGuardFailed, "'%.20s' is %s%s", input_name(method(), wrong),
                      dtype_name(x.dtype), shape_text(x.shape).text)
                    .message());
  }
  return reasons.status();
}

Result<TensorView> BoundSession::output(size_t i) const {
  const size_t count = variants_[0].output_count();
  if (i >= count)
    return Fault(Error::kInvalidArgument, "there is no output %zu, the method has %zu", i, count);
  LAZYRT_RETURN_IF_ERROR(check_ran());
  TensorView view = variants_[ran_].output(i);
  view.data = results_[i];
  return view;
}

Result<size_t> BoundSession::variant() const {
  LAZYRT_RETURN_IF_ERROR(check_ran());
  return size_t{in_file_[static_cast<size_t>(ran_)]};
}

Fault BoundSession::check_ran() const {
  if (ran_ >= 0) return {};
  return Fault(Error::kFailedPrecondition,
               "there is no result: the session has not run, or its last run failed");
}

void BoundSession::add_stats(SessionStats* stats) const {
  stats->arena_bytes += arena_.bytes + input_room_.bytes;
  stats->plan_bytes += pool_.bytes();
  stats->output_copy_bytes = read_counter(output_copy_bytes_);
  for (const DeviceMemory& device : devices_) stats->device_bytes += device.bytes();
  for (size_t v = 0; v < variant_count_; ++v) {
    stats->workspace_bytes = std::max(stats->workspace_bytes, variants_[v].workspace_bytes());
    stats->packed_weight_bytes += variants_[v].packed_weight_bytes();
    for (size_t i = 0; i < variants_[v].guard_count(); ++i)
      stats->guard_refusals += variants_[v].guard_refusals(i);
  }
}

/// Returns the place of a variant of the file among these; their number if it is not among them.
size_t BoundSession::place_of(size_t variant) const {
  return static_cast<size_t>(std::find(in_file_.begin(), in_file_.end(), variant) -
                             in_file_.begin());
}

uint64_t BoundSession::guard_refusals(size_t guard, size_t variant) const {
  const size_t v = place_of(variant);
  return v < variant_count_ ? variants_[v].guard_refusals(guard) : 0;
}

size_t BoundSession::node_count() const {
  size_t count = 0;
  for (size_t v = 0; v < variant_count_; ++v) count += variants_[v].line_count();
  return count;
}

Fault BoundSession::find_node(size_t i, NodeInfo* info) const {
  size_t at = i;
  for (size_t v = 0; v < variant_count_; at -= variants_[v++].line_count()) {
    if (at >= variants_[v].line_count()) continue;
    *info = variants_[v].line(at);
    info->variant = in_file_[v];
    return {};
  }
  return Fault(Error::kInvalidArgument, "there is no node %zu, the session has %zu", i, i - at);
}

void BoundSession::continue_from(const BoundSession& other) {
  for (size_t v = 0; v < variant_count_; ++v) {
    const size_t before = other.place_of(in_file_[v]);
    if (before < other.variant_count_) variants_[v].continue_from(other.variants_[before]);
  }
}

}  // namespace lazyrt
