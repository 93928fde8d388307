#include "runtime/exec/session_state.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/exec/input_shapes.h"

namespace lazyrt {
namespace {

/// The default limit leaves room for packed copies of the weights, whatever their size, and always
/// for a plan besides the largest arena that loads.
uint64_t limit_of(const ProgramState& program, const SessionOptions& options) {
  if (options.memory_limit != 0) return options.memory_limit;
  uint64_t beside = 0;
  for (const Backend* b = options.backend; b != nullptr; b = b->fallback) {
    if (b->most_weight_bytes != nullptr)
      beside += b->most_weight_bytes(program.sections.constants.size());
  }
  return kDefaultMemoryLimit + std::max(beside, uint64_t{64} << 20);
}

}  // namespace

SessionState::SessionState(const ProgramState& program, size_t method,
                           const SessionOptions& options, const Allocator& allocator)
    : program_(program),
      method_index_(method),
      symbol_count_(count_of(program.method(method).symbols())),
      options_(options),
      memory_(allocator, limit_of(program, options)),
      allocator_(memory_.allocator()),
      pool_(allocator_),
      states_(program, method, &services_, &pool_) {
  services_.init(options_, &memory_, program, stop_);
}

SessionState::~SessionState() {
  for (size_t i = 0; i < pending_.size(); ++i) drop_pending(i);
  destroy_bound(bound_);
}

Fault SessionState::make() { return memory_.explained(make_all(), "SessionOptions::memory_limit"); }

Fault SessionState::make_all() {
  const size_t inputs = count_of(method().inputs());
  if (is_dynamic()) {
    read_file_sizes(method(), sizes_);
    pending_ = pool_.make<PendingInput>(inputs);
    shapes_ = pool_.make<Shape>(inputs);
  }
  outputs_.make(count_of(method().outputs()), &pool_);
  if (pool_.is_short()) return no_memory_for_session();
  if (is_dynamic() && options_.reserve) LAZYRT_RETURN_IF_ERROR(make_reserve());
  LAZYRT_RETURN_IF_ERROR(make_bound(sizes_, &bound_));
  bound_->give_blocks();
  return reset_state();
}

/// Tries the extremes of all symbols of each variant: what values need is largest at one of these,
/// or near it.
Fault SessionState::find_needs(BoundSession::Needs* needs) {
  for (size_t v = 0; v < program_.variant_count(method_index_); ++v) {
    const fb::Method& variant = program_.variant(method_index_, v);
    needs->arena = std::max(needs->arena, variant.reserved_bytes());
    for (const bool largest : {true, false}) {
      int64_t symbols[kBundleMaxSymbols];
      find_bounds(variant, largest, symbols);
      BoundSession* bound = nullptr;
      LAZYRT_RETURN_IF_ERROR(make_bound(symbols, &bound));
      bound->add_needs(needs);
      for (size_t i = 0; i < pending_.size() && largest; ++i) {
        uint64_t& bytes = reservation_.input_bytes[i];
        bytes = std::max<uint64_t>(bytes, bound->input(i).bytes());
      }
      destroy_bound(bound);
    }
  }
  return {};
}

Fault SessionState::make_reservation(const BoundSession::Needs& needs) {
  uint64_t inputs = 0;
  for (const uint64_t bytes : reservation_.input_bytes) inputs += room_of(bytes);
  LAZYRT_RETURN_IF_ERROR(
      reservation_.arena.make(needs.arena, kAlignment, allocator_, "the reserved arena"));
  LAZYRT_RETURN_IF_ERROR(
      reservation_.inputs.make(inputs, kAlignment, allocator_, "the reserved inputs"));
  if (needs.workspace == 0) return {};
  return reservation_.workspace.make(needs.workspace + kTailBytes, kAlignment, allocator_,
                                     "the reserved workspace");
}

/// Measures what a change of sizes takes of a heap: two bound sessions, and what it makes
/// meanwhile.
Fault SessionState::measure_bind(const int64_t* symbols, uint64_t* bytes) {
  const uint64_t before = memory_.heap_used();
  memory_.begin_peak();
  BoundSession* bound[2] = {};
  Fault status;
  for (BoundSession*& one : bound) {
    if (status.ok()) status = make_bound(symbols, &one);
  }
  for (BoundSession* one : bound) destroy_bound(one);
  *bytes = memory_.peak() - before;
  return status;
}

/// Makes the largest bound session of each variant twice, to see what that takes.
Fault SessionState::make_reserve() {
  reservation_.input_bytes = pool_.make<uint64_t>(pending_.size());
  if (pool_.is_short()) return no_memory_for_session();
  BoundSession::Needs needs;
  LAZYRT_RETURN_IF_ERROR(find_needs(&needs));
  LAZYRT_RETURN_IF_ERROR(make_reservation(needs));
  is_reserved_ = true;
  uint64_t bytes = 0;
  for (size_t v = 0; v < program_.variant_count(method_index_); ++v) {
    int64_t symbols[kBundleMaxSymbols];
    find_bounds(program_.variant(method_index_, v), true, symbols);
    uint64_t of_this = 0;
    LAZYRT_RETURN_IF_ERROR(measure_bind(symbols, &of_this));
    bytes = std::max(bytes, of_this);
  }
  for (const uint64_t input : reservation_.input_bytes)
    bytes += ReservedHeap::taken_by(static_cast<size_t>(room_of(input)) + kAlignment);  // waiting
  constexpr uint64_t kSlack = 64 << 10;  // and a quarter: pieces of other sizes leave gaps
  return memory_.reserve(bytes + bytes / 4 + kSlack);
}

Fault SessionState::make_bound(const int64_t* symbols, BoundSession** bound) {
  const Allocator& allocator = memory_of_bound();
  void* memory = allocator.allocate(allocator.context, sizeof(BoundSession), alignof(BoundSession));
  if (memory == nullptr) return no_memory_for_session();
  const SessionBase base = {program_,  method_index_,  options_,
                            &memory_,  &services_,     &states_,
                            &outputs_, blocks_.data(), is_reserved_ ? &reservation_ : nullptr,
                            &stop_};
  auto* made = new (memory) BoundSession(base);
  FirstFault first;
  first.add(made->make({symbols, symbol_count_}));
  if (first.ok()) {
    *bound = made;
  } else {
    destroy_bound(made);
  }
  return first;
}

void SessionState::destroy_bound(BoundSession* bound) {
  if (bound == nullptr) return;
  bound->~BoundSession();
  memory_of_bound().release(memory_of_bound().context, bound);
}

Fault SessionState::check_input_index(size_t i) const {
  if (i < pending_.size()) return {};
  return Fault(Error::kInvalidArgument, "there is no input %zu, the method has %zu", i,
               pending_.size());
}

/// Finds the shape of input i: the one that it has, if that has this many bytes; else the only one
/// that has.
Fault SessionState::find_shape(size_t i, size_t bytes, Shape* shape) const {
  const TensorView& bound = bound_->input(i);
  *shape = pending_[i].is_set ? pending_[i].shape : bound.shape;
  if (TensorView{nullptr, bound.dtype, *shape}.bytes() == bytes) return {};
  *shape = bound.shape;
  if (bound.bytes() == bytes) return {};
  return find_input_shape(method(), i, bytes, shape);
}

Fault SessionState::check_input(size_t i, const TensorView& tensor) const {
  if (!is_dynamic()) return bound_->check_input(i, tensor);
  LAZYRT_RETURN_IF_ERROR(check_input_index(i));
  const TensorView& bound = bound_->input(i);
  if (tensor.dtype == bound.dtype && tensor.shape == bound.shape) return {};
  return check_input_tensor(method(), i, tensor);
}

Fault SessionState::set_input(size_t i, const void* data, size_t bytes) {
  if (!is_dynamic()) return bound_->set_input(i, nullptr, data, bytes);
  LAZYRT_RETURN_IF_ERROR(check_input_index(i));
  TensorView tensor = {const_cast<void*>(data), bound_->input(i).dtype, {}};
  LAZYRT_RETURN_IF_ERROR(find_shape(i, bytes, &tensor.shape));
  return set_input(i, tensor);
}

Fault SessionState::set_input(size_t i, const TensorView& tensor) {
  LAZYRT_RETURN_IF_ERROR(check_input(i, tensor));
  if (is_dynamic() && tensor.shape != bound_->input(i).shape) return wait_with_copy(i, tensor);
  LAZYRT_RETURN_IF_ERROR(bound_->set_input(i, &tensor.shape, tensor.data, tensor.bytes()));
  drop_pending(i);
  return {};
}

Fault SessionState::bind_input(size_t i, const TensorView& tensor, size_t readable) {
  LAZYRT_RETURN_IF_ERROR(check_input(i, tensor));
  if (is_dynamic() && tensor.shape != bound_->input(i).shape)
    return wait_with_memory(i, tensor, readable);
  LAZYRT_RETURN_IF_ERROR(bound_->bind_input(i, tensor, readable));
  drop_pending(i);
  return {};
}

Fault SessionState::wait_with_copy(size_t i, const TensorView& tensor) {
  const size_t bytes = tensor.bytes();
  if (tensor.data == nullptr && bytes != 0)
    return Fault(Error::kInvalidArgument, "input '%.60s': data is null", input_name(method(), i));
  void* copy = allocator_.allocate(allocator_.context, bytes + 1, kAlignment);
  if (copy == nullptr) {
    return memory_.explained(Fault(Error::kOutOfMemory, "no memory for input '%.60s' of %zu bytes",
                                   input_name(method(), i), bytes),
                             "SessionOptions::memory_limit");
  }
  if (bytes != 0) std::memcpy(copy, tensor.data, bytes);
  drop_pending(i);
  pending_[i].is_set = true;
  pending_[i].shape = tensor.shape;
  pending_[i].copy = copy;
  ++pending_count_;
  return {};
}

Fault SessionState::wait_with_memory(size_t i, const TensorView& tensor, size_t readable) {
  const size_t bytes = tensor.bytes();
  if (tensor.data == nullptr || readable < bytes) {
    return Fault(Error::kInvalidArgument, "input '%.60s' takes %zu bytes, %zu are readable",
                 input_name(method(), i), bytes, tensor.data == nullptr ? size_t{0} : readable);
  }
  if (bound_->is_bound_memory(tensor.data, bytes)) {
    return Fault(Error::kFailedPrecondition,
                 "input '%.60s': memory of this session, which moves with the shapes of its "
                 "inputs: set it instead",
                 input_name(method(), i));
  }
  drop_pending(i);
  pending_[i].is_set = true;
  pending_[i].shape = tensor.shape;
  pending_[i].bound = tensor.data;
  pending_[i].readable = readable;
  ++pending_count_;
  return {};
}

/// Returns the space of the device's memory; opens its backend if no node runs there.
Fault SessionState::find_space(size_t output, const Backend* device, uint8_t* space) {
  *space = kHostSpace;
  if (device == nullptr) return {};
  for (const Backend* b = options_.backend; kDevices && b != nullptr; b = b->fallback) {
    if (b != device || b->device == nullptr) continue;
    int slot = 0;
    LAZYRT_RETURN_IF_ERROR(services_.find_or_open(*b, &slot));
    *space = static_cast<uint8_t>(space_of_slot(slot));
    return {};
  }
  return Fault(Error::kInvalidArgument, "output '%.60s': '%.40s' is no device of this session",
               output_name(method(), output), device->name);
}

/// What no sizes of inputs change.
Fault SessionState::check_binding(size_t i, const OutputBinding& binding) const {
  TensorView least;
  if (!is_dynamic() && !bound_->takes_output(i, binding.writable, &least))
    return wrong_output_size(method(), i, least, binding.writable);
  const auto address = reinterpret_cast<uintptr_t>(binding.data);
  if (binding.space != kHostSpace && address % kAlignment != 0) {
    return Fault(Error::kInvalidArgument,
                 "output '%.60s': memory of a device must be aligned to %zu bytes, this is to %zu",
                 output_name(method(), i), kAlignment,
                 static_cast<size_t>(address & (~address + 1)));
  }
  const Span<const uint8_t> constants = program_.sections.constants;
  if (bound_->is_own_memory(binding.data, binding.writable, binding.space) ||
      (binding.space == kHostSpace &&
       overlap(binding.data, binding.writable, constants.data(), constants.size()))) {
    return Fault(Error::kInvalidArgument, "output '%.60s': memory of the session itself",
                 output_name(method(), i));
  }
  const size_t other = outputs_.overlapped(binding);
  if (other == outputs_.size()) return {};
  return Fault(Error::kInvalidArgument, "output '%.60s': output '%.60s' is bound to that memory",
               output_name(method(), i), output_name(method(), other));
}

Fault SessionState::bind_output(size_t i, void* data, size_t writable, const Backend* device) {
  if (i >= outputs_.size()) {
    return Fault(Error::kInvalidArgument, "there is no output %zu, the method has %zu", i,
                 outputs_.size());
  }
  const OutputBinding before = outputs_[i];
  outputs_.set(i, OutputBinding());  // it is not in its own way
  if (data == nullptr) return {};
  OutputBinding binding = {static_cast<uint8_t*>(data), writable, kHostSpace};
  Fault status = find_space(i, device, &binding.space);
  if (status.ok()) status = check_binding(i, binding);
  outputs_.set(i, status.ok() ? binding : before);
  return status;
}

void SessionState::drop_pending(size_t i) {
  if (pending_.empty() || !pending_[i].is_set) return;
  if (pending_[i].copy != nullptr) allocator_.release(allocator_.context, pending_[i].copy);
  pending_[i] = PendingInput();
  --pending_count_;
}

/// Finds the sizes from the shapes of all inputs as they are set.
Fault SessionState::find_sizes(int64_t* symbols) const {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const bool waits = pending_[i].is_set;
    if (!waits && !bound_->is_set(i)) {
      return Fault(Error::kFailedPrecondition, "input '%.100s' was never set",
                   input_name(method(), i));
    }
    shapes_[i] = waits ? pending_[i].shape : bound_->input(i).shape;
  }
  return resolve_symbols(method(), shapes_, symbols);
}

Fault SessionState::bind_pending() {
  int64_t symbols[kBundleMaxSymbols];
  LAZYRT_RETURN_IF_ERROR(find_sizes(symbols));
  return rebind(symbols);
}

Fault SessionState::bind_shapes(Span<const Shape> inputs) {
  stop_.begin(options_.deadline_nanoseconds);
  const size_t count = count_of(method().inputs());
  if (inputs.size() != count) {
    return Fault(Error::kInvalidArgument, "%zu shapes, the method has %zu inputs", inputs.size(),
                 count);
  }
  if (!is_dynamic()) {
    for (size_t i = 0; i < count; ++i) {
      const TensorView& input = bound_->input(i);
      LAZYRT_RETURN_IF_ERROR(bound_->check_input(i, {nullptr, input.dtype, inputs[i]}));
    }
    return {};
  }
  for (size_t i = 0; i < count; ++i)
    LAZYRT_RETURN_IF_ERROR(check_input_shape(method(), i, inputs[i]));
  int64_t symbols[kBundleMaxSymbols];
  LAZYRT_RETURN_IF_ERROR(resolve_symbols(method(), inputs, symbols));
  return rebind(symbols);
}

/// Everything that can fail is done before the session changes.
Fault SessionState::rebind(const int64_t* symbols) {
  const size_t size = symbol_count_ * sizeof(int64_t);
  if (std::memcmp(symbols, sizes_, size) == 0) return {};
  LAZYRT_RETURN_IF_ERROR(bound_->check_movable());
  BoundSession* next = nullptr;
  memory_.forget_refusal();
  WatchedSpan bind(options_.watch, RunSpan::Kind::kBind);
  LAZYRT_RETURN_IF_ERROR(
      bind.end(memory_.explained(make_bound(symbols, &next), "SessionOptions::memory_limit")));
  Fault status;
  if (kDevices && next->shares_arena(*bound_)) status = copy_staying_inputs(*next);
  if (status.ok()) status = move_inputs(next);
  if (!status.ok()) {
    destroy_bound(next);
    drop_moved();
    return status;
  }
  replace_bound(next);
  std::memcpy(sizes_, symbols, size);
  drop_moved();
  return {};
}

/// Inputs that are set and keep their shape also wait, since setting one may overwrite another.
Fault SessionState::copy_staying_inputs(const BoundSession& next) {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const TensorView& input = bound_->input(i);
    if (pending_[i].is_set || !bound_->is_set(i) || bound_->is_bound(i)) continue;
    if (next.input(i).shape != input.shape) continue;
    LAZYRT_RETURN_IF_ERROR(wait_with_copy(i, {bound_->copy_of(i), input.dtype, input.shape}));
  }
  return {};
}

/// Moves bound inputs first, which may fail: inputs that are set may go where the old ones are, in
/// reserved memory.
Fault SessionState::move_inputs(BoundSession* next) const {
  for (const bool is_bound : {true, false}) {
    for (size_t i = 0; i < pending_.size(); ++i) {
      const PendingInput& waits = pending_[i];
      const TensorView& input = next->input(i);
      if (waits.is_set && waits.shape == input.shape) {
        if ((waits.bound != nullptr) != is_bound) continue;
        const TensorView tensor = {const_cast<void*>(waits.bound), input.dtype, waits.shape};
        LAZYRT_RETURN_IF_ERROR(is_bound
                                   ? next->bind_input(i, tensor, waits.readable)
                                   : next->set_input(i, &waits.shape, waits.copy, tensor.bytes()));
      } else if (bound_->is_set(i) && bound_->input(i).shape == input.shape &&
                 bound_->is_bound(i) == is_bound) {
        LAZYRT_RETURN_IF_ERROR(next->take_input(i, *bound_));
      }
    }
  }
  return {};
}

void SessionState::replace_bound(BoundSession* next) {
  BoundSession* last = bound_;
  {
    const Lock lock(mutex_);
    next->continue_from(*last);
    bound_ = next;
  }
  destroy_bound(last);
  bound_->give_blocks();
}

/// Drops the pending inputs whose shapes are bound now.
void SessionState::drop_moved() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].shape == bound_->input(i).shape) drop_pending(i);
  }
}

Fault SessionState::run() {
  stop_.begin(options_.deadline_nanoseconds);
  WatchedSpan run(options_.watch, RunSpan::Kind::kRun);
  if (is_pending()) {
    const Fault status = bind_pending();
    if (!status.ok()) {
      bound_->forget_result();
      return run.end(status);
    }
  }
  return run.end(bound_->run(stop_));
}

Fault SessionState::reset_state() {
  states_.reset();
  return {};
}

SessionStats SessionState::stats() const {
  const Lock lock(mutex_);
  SessionStats stats;
  bound_->add_stats(&stats);
  stats.state_bytes = states_.host_bytes();
  stats.device_bytes += states_.device_bytes();
  stats.plan_bytes += pool_.bytes();
  stats.total_bytes = memory_.used();
  stats.beyond_reserve = memory_.beyond_reserve();
  return stats;
}

size_t SessionState::node_count() const {
  const Lock lock(mutex_);
  return bound_->node_count();
}

Fault SessionState::find_node(size_t i, NodeInfo* info) const {
  const Lock lock(mutex_);
  return bound_->find_node(i, info);
}

uint64_t SessionState::guard_refusals(size_t guard, size_t variant) const {
  const Lock lock(mutex_);
  return bound_->guard_refusals(guard, variant);
}

}  // namespace lazyrt
