#include "runtime/exec/session_state.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>

namespace lazyrt {
namespace {

uint64_t room_of(uint64_t bytes) { return align_up(bytes + kTailBytes, kAlignment); }

/// Whether two runs of bytes share one.
bool overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a);
  const auto y = reinterpret_cast<uintptr_t>(b);
  return x < y ? y - x < a_bytes : x - y < b_bytes;
}

/// Why none of several variants ran, each with its share of the message.
class Reasons {
 public:
  Reasons(const char* method, size_t variants)
      : share_(static_cast<int>(std::max<size_t>(150 / variants, 24))) {
    used_ = snprintf(text_, sizeof(text_), "no variant of method '%.30s' takes this input", method);
  }
  void add(size_t variant, const char* why) {
    const auto used = static_cast<size_t>(used_);
    if (used >= sizeof(text_)) return;
    used_ += snprintf(text_ + used, sizeof(text_) - used, "%s %zu: %.*s", variant == 0 ? ":" : ";",
                      variant, share_, why);
  }
  Status status() const { return Status(Error::kGuardFailed, "%s", text_); }

 private:
  char text_[Status::kMessageBytes];
  int used_ = 0;
  int share_;
};

uint64_t sum_of(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// The default leaves room for packed copies of the weights, whatever their size.
uint64_t limit_of(const ProgramState& program, const SessionOptions& options) {
  if (options.memory_limit != 0) return options.memory_limit;
  uint64_t limit = kDefaultMemoryLimit;
  for (const Backend* b = options.backend; b != nullptr; b = b->fallback) {
    if (b->most_weight_bytes != nullptr)
      limit += b->most_weight_bytes(program.sections.constants.size());
  }
  return limit;
}

}  // namespace

SessionState::SessionState(const ProgramState& program, size_t method,
                           const SessionOptions& options, const Allocator& allocator)
    : program_(program),
      method_index_(method),
      options_(options),
      memory_(allocator, limit_of(program, options)),
      allocator_(memory_.allocator()) {
  services_.init(options.threads, &memory_, &program.shared,
                 {program.allocator, program.sections.constants.size()});
}

SessionState::~SessionState() {
  for (const InputSlot& slot : inputs_) {
    if (slot.stage != nullptr) allocator_.release(allocator_.context, slot.stage);
  }
  for (size_t v = 0; v < variant_count_; ++v) variants_[v].~Variant();
  if (variants_ != nullptr) allocator_.release(allocator_.context, variants_);
}

Status SessionState::make() {
  return memory_.explained(make_all(), "SessionOptions::memory_limit");
}

Status SessionState::make_all() {
  LAZYRT_RETURN_IF_ERROR(find_sizes());
  LAZYRT_RETURN_IF_ERROR(check_memory_limit());
  LAZYRT_RETURN_IF_ERROR(make_variants());
  LAZYRT_RETURN_IF_ERROR(make_memory());
  const SharedMemory memory = {arena_.data(), workspace_.data(), {states_.data(), states_.size()}};
  for (size_t v = 0; v < variant_count_; ++v) {
    LAZYRT_RETURN_IF_ERROR(variants_[v].make_values(memory, options_.profile));
  }
  LAZYRT_RETURN_IF_ERROR(make_inputs());
  return reset_state();
}

Status SessionState::make_variants() {
  const size_t count = program_.variant_count(method_index_);
  void* memory = allocator_.allocate(allocator_.context, count * sizeof(Variant), alignof(Variant));
  if (memory == nullptr) return no_memory_for_session();
  variants_ = static_cast<Variant*>(memory);
  for (; variant_count_ < count; ++variant_count_) new (variants_ + variant_count_) Variant;
  for (size_t v = 0; v < count; ++v) {
    const Status status = variants_[v].make_plan(program_, program_.variant(method_index_, v),
                                                 options_, &memory_, &services_);
    if (!status.ok()) return v == 0 ? status : status.with_context("variant %zu", v);
  }
  return {};
}

/// One arena, as large as the largest variant's.
Status SessionState::find_sizes() {
  const fb::Method& first = program_.method(method_index_);
  const size_t variants = program_.variant_count(method_index_);
  for (size_t v = 0; v < variants; ++v) {
    const uint64_t arena = program_.variant(method_index_, v).arena_bytes();
    arena_bytes_ = std::max(arena_bytes_, arena);
  }
  for (size_t k = 0; k < count_of(first.states()); ++k) {
    const int32_t id = first.states()->Get(static_cast<uint32_t>(k))->value();
    state_bytes_ =
        sum_of(state_bytes_, room_of(first.values()->Get(static_cast<uint32_t>(id))->bytes()));
  }
  if (!inputs_.make(count_of(first.inputs()), allocator_)) return no_memory_for_session();
  input_bytes_ = input_block_bytes();
  return {};
}

Status SessionState::check_memory_limit() const {
  if (memory_.fits(sum_of(arena_bytes_, sum_of(input_bytes_, state_bytes_)))) return {};
  return Status(Error::kOutOfMemory,
                "method '%.60s': arena of %" PRIu64 ", inputs of %" PRIu64 " and states of %" PRIu64
                " bytes exceed SessionOptions::memory_limit of %" PRIu64,
                text_of(program_.method(method_index_).name()), arena_bytes_, input_bytes_,
                state_bytes_, memory_.limit());
}

/// One workspace, as large as the largest variant's.
Status SessionState::make_memory() {
  uint64_t workspace = 0;
  for (size_t v = 0; v < variant_count_; ++v) {
    workspace = std::max(workspace, variants_[v].plan().workspace_bytes());
  }
  LAZYRT_RETURN_IF_ERROR(arena_.make(arena_bytes_, kAlignment, allocator_, "the arena"));
  if (input_bytes_ != 0)
    LAZYRT_RETURN_IF_ERROR(input_block_.make(input_bytes_, kAlignment, allocator_, "the inputs"));
  if (workspace != 0) {
    if (workspace > UINT64_MAX - kTailBytes) workspace -= kTailBytes;  // refused as it is
    LAZYRT_RETURN_IF_ERROR(
        workspace_.make(workspace + kTailBytes, kAlignment, allocator_, "the workspace"));
  }
  if (state_bytes_ != 0)
    LAZYRT_RETURN_IF_ERROR(state_block_.make(state_bytes_, kAlignment, allocator_, "the states"));
  return make_states();
}

Status SessionState::make_states() {
  if (!states_.make(count_of(method().states()), allocator_)) return no_memory_for_session();
  uint8_t* next = state_block_.data();
  for (size_t k = 0; k < states_.size(); ++k) {
    states_[k] = next;
    next += room_of(method().values()->Get(static_cast<uint32_t>(state_table(k).value()))->bytes());
  }
  return {};
}

/// Finds the room of each input; of several variants the sum, for one 0: its arena has them.
uint64_t SessionState::input_block_bytes() {
  const size_t variants = program_.variant_count(method_index_);
  uint64_t total = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (size_t v = 0; v < variants; ++v) {
      const fb::Method& m = program_.variant(method_index_, v);
      const int32_t id = m.inputs()->Get(static_cast<uint32_t>(i))->value();
      inputs_[i].room =
          std::max<uint64_t>(inputs_[i].room, m.values()->Get(static_cast<uint32_t>(id))->bytes());
    }
    total = sum_of(total, room_of(inputs_[i].room));
  }
  return variants == 1 ? 0 : total;
}

Status SessionState::make_inputs() {
  uint8_t* next = input_block_.data();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (variant_count_ == 1) {
      inputs_[i].copy = variants_[0].input_in_arena(i);
      continue;
    }
    inputs_[i].copy = next;
    next += room_of(inputs_[i].room);
  }
  if (!by_address_.make(inputs_.size(), allocator_)) return no_memory_for_session();
  for (size_t i = 0; i < inputs_.size(); ++i) by_address_[i] = static_cast<uint32_t>(i);
  std::sort(by_address_.begin(), by_address_.end(),
            [&](uint32_t a, uint32_t b) { return inputs_[a].copy < inputs_[b].copy; });
  return {};
}

const char* SessionState::input_name(size_t i) const {
  return text_of(method().inputs()->Get(static_cast<uint32_t>(i))->name());
}

Status SessionState::no_input(size_t i) const {
  return Status(Error::kInvalidArgument, "there is no input %zu, the method has %zu", i,
                inputs_.size());
}

/// "input 'x' takes f32[2,3] or f32[4,3], got ..."
Status SessionState::wrong_input(size_t i, const char* given) const {
  char wanted[120];
  size_t used = 0;
  for (size_t v = 0; v < variant_count_ && used < sizeof(wanted); ++v) {
    const TensorView& x = variants_[v].input(i);
    bool repeated = false;
    for (size_t w = 0; w < v; ++w) repeated = repeated || variants_[w].input(i).shape == x.shape;
    if (repeated) continue;
    used += static_cast<size_t>(snprintf(wanted + used, sizeof(wanted) - used, "%s%s%s",
                                         v == 0 ? "" : " or ", dtype_name(x.dtype),
                                         shape_text(x.shape).text));
  }
  return Status(Error::kInvalidArgument, "input '%.60s' takes %s, got %s", input_name(i), wanted,
                given);
}

/// The one shape of input i that has these bytes.
Status SessionState::find_shape(size_t i, size_t bytes, Shape* shape) const {
  const Variant* found = nullptr;
  for (size_t v = 0; v < variant_count_; ++v) {
    if (variants_[v].input(i).bytes() != bytes) continue;
    if (found != nullptr && found->input(i).shape != variants_[v].input(i).shape) {
      return Status(Error::kInvalidArgument,
                    "input '%.60s': %zu bytes are %s as well as %s: set it as a tensor",
                    input_name(i), bytes, shape_text(found->input(i).shape).text,
                    shape_text(variants_[v].input(i).shape).text);
    }
    found = &variants_[v];
  }
  if (found != nullptr) {
    *shape = found->input(i).shape;
    return {};
  }
  const TensorView& x = variants_[0].input(i);
  if (variant_count_ == 1) {
    return Status(Error::kInvalidArgument, "input '%.60s' takes %zu bytes (%s%s), got %zu",
                  input_name(i), x.bytes(), dtype_name(x.dtype), shape_text(x.shape).text, bytes);
  }
  char given[32];
  snprintf(given, sizeof(given), "%zu bytes", bytes);
  return wrong_input(i, given);
}

Status SessionState::set_input(size_t i, const Shape* shape, const void* data, size_t bytes) {
  if (i >= inputs_.size()) return no_input(i);
  Shape found;
  if (shape != nullptr) {
    found = *shape;
  } else {
    LAZYRT_RETURN_IF_ERROR(find_shape(i, bytes, &found));
  }
  if (data == nullptr && bytes != 0) {
    return Status(Error::kInvalidArgument, "input '%.60s': data is null", input_name(i));
  }
  InputSlot& slot = inputs_[i];
  slot.shape = found;
  slot.bytes = bytes;
  slot.set = true;
  slot.bound = nullptr;
  slot.copy_at_run = false;
  slot.is_staged = false;
  if (bytes != 0) std::memmove(slot.copy, data, bytes);  // data may be a view of this input
  return {};
}

Status SessionState::check_input(size_t i, const TensorView& tensor) const {
  if (i >= inputs_.size()) return no_input(i);
  for (size_t v = 0; v < variant_count_; ++v) {
    const TensorView& wanted = variants_[v].input(i);
    if (tensor.dtype == wanted.dtype && tensor.shape == wanted.shape) return {};
  }
  char given[sizeof(ShapeText) + 8];
  snprintf(given, sizeof(given), "%s%s", dtype_name(tensor.dtype), shape_text(tensor.shape).text);
  return wrong_input(i, given);
}

Status SessionState::bind_input(size_t i, const TensorView& tensor, size_t readable) {
  LAZYRT_RETURN_IF_ERROR(check_input(i, tensor));
  const size_t bytes = tensor.bytes();
  if (tensor.data == nullptr || readable < bytes) {
    return Status(Error::kInvalidArgument, "input '%.60s' takes %zu bytes, %zu are readable",
                  input_name(i), bytes, tensor.data == nullptr ? size_t{0} : readable);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data) % kAlignment == 0;
  const bool has_tail = readable - bytes >= kTailBytes;
  const bool is_own = is_own_memory(tensor.data, bytes);
  const bool is_staged = is_own && is_an_input_copy(tensor.data, bytes);
  InputSlot& slot = inputs_[i];
  if (is_staged) LAZYRT_RETURN_IF_ERROR(make_stage(&slot));
  slot.shape = tensor.shape;
  slot.bytes = bytes;
  slot.set = true;
  slot.bound = tensor.data;
  slot.copy_at_run = is_own || !(aligned && has_tail);
  slot.is_staged = is_staged;
  return {};
}

/// Memory that a run writes.
bool SessionState::is_own_memory(const void* data, size_t bytes) const {
  for (const Block* block : {&arena_, &workspace_, &state_block_, &input_block_}) {
    if (overlap(data, bytes, block->data(), block->bytes())) return true;
  }
  return false;
}

/// The copies are apart from each other: of those that begin before the end only the last may share
/// a byte.
bool SessionState::is_an_input_copy(const void* data, size_t bytes) const {
  const uint8_t* end = static_cast<const uint8_t*>(data) + bytes;
  const uint32_t* next = std::lower_bound(
      by_address_.begin(), by_address_.end(), end,
      [&](uint32_t i, const uint8_t* at) { return std::less<>()(inputs_[i].copy, at); });
  if (next == by_address_.begin()) return false;
  const InputSlot& last = inputs_[next[-1]];
  return overlap(data, bytes, last.copy, last.room);
}

Status SessionState::make_stage(InputSlot* slot) {
  if (slot->stage != nullptr) return {};
  slot->stage = static_cast<uint8_t*>(allocator_.allocate(
      allocator_.context, static_cast<size_t>(room_of(slot->room)), kAlignment));
  return slot->stage == nullptr ? no_memory_for_session() : Status();
}

Status SessionState::prepare_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    if (!slot.set) {
      return Status(Error::kFailedPrecondition, "input '%.100s' was never set", input_name(i));
    }
    if (slot.is_staged) std::memcpy(slot.stage, slot.bound, slot.bytes);
  }
  for (const InputSlot& slot : inputs_) {
    const void* from = slot.is_staged ? slot.stage : slot.bound;
    if (slot.copy_at_run && slot.bytes != 0) std::memcpy(slot.copy, from, slot.bytes);
  }
  return {};
}

bool SessionState::fits(const Variant& variant, size_t* wrong) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (variant.input(i).shape == inputs_[i].shape) continue;
    *wrong = i;
    return false;
  }
  return true;
}

void SessionState::point_inputs(Variant* variant) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    const bool in_place = slot.bound != nullptr && !slot.copy_at_run;
    variant->point_input(i, in_place ? const_cast<void*>(slot.bound) : slot.copy);
  }
}

/// Nothing reads a state after the nodes have run, and no state is another's next: the order of the
/// copies does not matter.
void SessionState::keep_states(const Variant& variant) {
  for (size_t k = 0; k < states_.size(); ++k) {
    const TensorView& next = variant.next_of_state(k);
    if (next.data != states_[k] && next.bytes() != 0)
      std::memcpy(states_[k], next.data, next.bytes());
  }
}

Status SessionState::run_variant(size_t v) {
  point_inputs(&variants_[v]);
  LAZYRT_RETURN_IF_ERROR(variants_[v].run(stop_));
  keep_states(variants_[v]);
  ran_ = static_cast<int32_t>(v);
  return {};
}

Status SessionState::run() {
  ran_ = -1;
  stop_.begin(options_.deadline_nanoseconds);
  LAZYRT_RETURN_IF_ERROR(prepare_inputs());
  if (variant_count_ == 1) {
    const Status status = run_variant(0);
    if (status.error() != Error::kGuardFailed || is_failed_check(status)) return status;
    return status.with_context("this input takes another path than the exported one");
  }
  Reasons reasons(text_of(method().name()), variant_count_);
  for (size_t v = 0; v < variant_count_; ++v) {
    size_t wrong = 0;
    if (!fits(variants_[v], &wrong)) {
      const TensorView& x = variants_[v].input(wrong);
      reasons.add(v, Status(Error::kGuardFailed, "'%.20s' is %s%s", input_name(wrong),
                            dtype_name(x.dtype), shape_text(x.shape).text)
                         .message());
      continue;
    }
    const Status status = run_variant(v);
    if (status.ok()) return status;
    if (status.error() != Error::kGuardFailed) return status.with_context("variant %zu", v);
    reasons.add(v, status.message());
  }
  return reasons.status();
}

Result<TensorView> SessionState::output(size_t i) const {
  const size_t count = count_of(method().outputs());
  if (i >= count)
    return Status(Error::kInvalidArgument, "there is no output %zu, the method has %zu", i, count);
  const Result<size_t> ran = variant();
  if (!ran.ok()) return ran.status();
  return variants_[*ran].output(i);
}

Result<size_t> SessionState::variant() const {
  if (ran_ >= 0) return static_cast<size_t>(ran_);
  return Status(Error::kFailedPrecondition,
                "there is no result: the session has not run, or its last run failed");
}

Status SessionState::reset_state() {
  for (size_t k = 0; k < states_.size(); ++k) {
    const fb::State& table = state_table(k);
    const size_t bytes = method().values()->Get(static_cast<uint32_t>(table.value()))->bytes();
    if (bytes == 0) continue;
    if (table.initial() < 0) {
      std::memset(states_[k], 0, bytes);
    } else {
      const fb::Value& first = *method().values()->Get(static_cast<uint32_t>(table.initial()));
      std::memcpy(states_[k], program_.constant(first), bytes);
    }
  }
  return {};
}

Result<TensorView> SessionState::state(size_t i) const {
  if (i >= states_.size()) {
    return Status(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i,
                  states_.size());
  }
  const fb::Value& v = *method().values()->Get(static_cast<uint32_t>(state_table(i).value()));
  const TensorSpec spec = spec_of(v);
  return TensorView{states_[i], spec.dtype, spec.shape};
}

SessionStats SessionState::stats() const {
  SessionStats stats;
  stats.arena_bytes = arena_.bytes() + input_block_.bytes();
  stats.state_bytes = state_block_.bytes();
  stats.total_bytes = memory_.used();
  for (size_t v = 0; v < variant_count_; ++v) {
    const Plan& plan = variants_[v].plan();
    stats.workspace_bytes = std::max(stats.workspace_bytes, plan.workspace_bytes());
    stats.packed_weight_bytes += plan.packed_weight_bytes();
    const size_t guards = count_of(variants_[v].method().guards());
    for (size_t i = 0; i < guards; ++i) stats.guard_refusals += guard_refusals(i, v);
  }
  return stats;
}

uint64_t SessionState::guard_refusals(size_t guard, size_t variant) const {
  return variant < variant_count_ ? variants_[variant].guard_refusals(guard) : 0;
}

size_t SessionState::node_count() const {
  size_t count = 0;
  for (size_t v = 0; v < variant_count_; ++v) count += variants_[v].plan().nodes().size();
  return count;
}

NodeInfo SessionState::node(size_t i) const {
  size_t v = 0;
  for (; i >= variants_[v].plan().nodes().size(); ++v) i -= variants_[v].plan().nodes().size();
  NodeInfo info = variants_[v].node(i);
  info.variant = v;
  return info;
}

}  // namespace lazyrt
