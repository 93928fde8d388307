#include "runtime/exec/session_state.h"

#include <cinttypes>
#include <cstring>

namespace lazyrt {
namespace {

constexpr uint64_t kDefaultMemoryLimit = uint64_t{4} << 30;

Status no_memory() { return Status(Error::kOutOfMemory, "no memory for a session"); }

}  // namespace

SessionState::SessionState(const ProgramState& program, const fb::Method& method,
                           const SessionOptions& options, const Allocator& allocator)
    : program_(program), method_(method), options_(options), allocator_(allocator) {
  services_.init(options.threads, allocator, &program.shared);
}

Status SessionState::make() {
  LAZYRT_RETURN_IF_ERROR(plan_.make(program_, method_, *options_.backend, allocator_, &services_));
  LAZYRT_RETURN_IF_ERROR(make_memory());
  LAZYRT_RETURN_IF_ERROR(make_inputs());
  return make_values();
}

Status SessionState::make_memory() {
  const uint64_t limit = options_.memory_limit == 0 ? kDefaultMemoryLimit : options_.memory_limit;
  const uint64_t arena = method_.arena_bytes();
  const uint64_t workspace = plan_.workspace_bytes();
  if (arena > limit || workspace > limit - arena) {
    return Status(Error::kOutOfMemory,
                  "method '%.60s': arena of %" PRIu64 " and workspace of %" PRIu64
                  " bytes exceed the memory limit of %" PRIu64,
                  text_of(method_.name()), arena, workspace, limit);
  }
  LAZYRT_RETURN_IF_ERROR(arena_.make(arena, kAlignment, allocator_, "the arena"));
  if (workspace == 0) return {};
  return workspace_.make(workspace + kTailBytes, kAlignment, allocator_, "the workspace");
}

Status SessionState::make_inputs() {
  if (!inputs_.make(count_of(method_.inputs()), allocator_)) return no_memory();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].value = method_.inputs()->Get(static_cast<uint32_t>(i))->value();
  }
  return {};
}

Status SessionState::make_values() {
  const size_t count = count_of(method_.values());
  if (!values_.make(count, allocator_) || !input_of_.make(count, allocator_) ||
      !operands_.make(plan_.operands().size(), allocator_) ||
      !rebind_.make(plan_.nodes().size(), allocator_)) {
    return no_memory();
  }
  if (options_.profile && !times_.make(plan_.nodes().size(), allocator_)) return no_memory();
  for (bool& rebind : rebind_) rebind = true;
  follow_aliases();
  for (size_t id = 0; id < count; ++id) {
    const TensorSpec spec = spec_of(value(id));
    values_[id] = {address_of(id), spec.dtype, spec.shape};
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    const int32_t id = plan_.operands()[i];
    if (id >= 0) operands_[i] = values_[static_cast<size_t>(id)];
  }
  return {};
}

/// Views of an input move with it.
void SessionState::follow_aliases() {
  for (int32_t& input : input_of_) input = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    input_of_[static_cast<size_t>(inputs_[i].value)] = static_cast<int32_t>(i);
  }
  for (size_t id = 0; id < input_of_.size(); ++id) {
    const int32_t of = value(id).alias_of();
    if (of >= 0) input_of_[id] = input_of_[static_cast<size_t>(of)];
  }
}

void* SessionState::address_of(size_t id) const {
  const fb::Value& v = value(id);
  if (v.kind() == fb::ValueKind::Constant) return const_cast<uint8_t*>(program_.constant(v));
  const int32_t input = input_of_[id];
  if (input >= 0 && inputs_[static_cast<size_t>(input)].bound != nullptr &&
      !inputs_[static_cast<size_t>(input)].copy_at_run) {
    return const_cast<void*>(inputs_[static_cast<size_t>(input)].bound);
  }
  return arena_.data() + v.offset();
}

void SessionState::refresh_operands() {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (input_of_[id] >= 0) values_[id].data = address_of(id);
  }
  for (size_t n = 0; n < plan_.nodes().size(); ++n) {
    const PlannedNode& node = plan_.nodes()[n];
    for (size_t k = 0; k < node.input_count + node.output_count; ++k) {
      const size_t i = node.first_operand + k;
      const int32_t id = plan_.operands()[i];
      if (id < 0 || operands_[i].data == values_[static_cast<size_t>(id)].data) continue;
      operands_[i].data = values_[static_cast<size_t>(id)].data;
      rebind_[n] = true;
    }
  }
  stale_ = false;
}

const char* SessionState::input_name(size_t i) const {
  return text_of(method_.inputs()->Get(static_cast<uint32_t>(i))->name());
}

void SessionState::point_input(size_t i, const void* bound, bool copy_at_run) {
  InputSlot& slot = inputs_[i];
  const void* before = address_of(static_cast<size_t>(slot.value));
  slot.bound = bound;
  slot.copy_at_run = copy_at_run;
  slot.set = true;
  stale_ = stale_ || before != address_of(static_cast<size_t>(slot.value));
}

Status SessionState::set_input(size_t i, const void* data, size_t bytes) {
  if (i >= inputs_.size()) {
    return Status(Error::kInvalidArgument, "there is no input %zu, the method has %zu", i,
                  inputs_.size());
  }
  const size_t needed = input_bytes(i);
  if (bytes != needed) {
    const TensorView& v = values_[static_cast<size_t>(inputs_[i].value)];
    return Status(Error::kInvalidArgument, "input '%.60s' takes %zu bytes (%s%s), got %zu",
                  input_name(i), needed, dtype_name(v.dtype), shape_text(v.shape).text, bytes);
  }
  if (data == nullptr && bytes != 0) {
    return Status(Error::kInvalidArgument, "input '%.60s': data is null", input_name(i));
  }
  point_input(i, nullptr, false);
  if (bytes != 0) std::memcpy(address_of(static_cast<size_t>(inputs_[i].value)), data, bytes);
  return {};
}

Status SessionState::check_input(size_t i, const TensorView& tensor) const {
  if (i >= inputs_.size()) {
    return Status(Error::kInvalidArgument, "there is no input %zu, the method has %zu", i,
                  inputs_.size());
  }
  const TensorView& wanted = values_[static_cast<size_t>(inputs_[i].value)];
  if (tensor.dtype == wanted.dtype && tensor.shape == wanted.shape) return {};
  return Status(Error::kInvalidArgument, "input '%.60s' takes %s%s, got %s%s", input_name(i),
                dtype_name(wanted.dtype), shape_text(wanted.shape).text, dtype_name(tensor.dtype),
                shape_text(tensor.shape).text);
}

Status SessionState::bind_input(size_t i, const TensorView& tensor, size_t readable) {
  LAZYRT_RETURN_IF_ERROR(check_input(i, tensor));
  const size_t bytes = input_bytes(i);
  if (tensor.data == nullptr || readable < bytes) {
    return Status(Error::kInvalidArgument, "input '%.60s' takes %zu bytes, %zu are readable",
                  input_name(i), bytes, tensor.data == nullptr ? size_t{0} : readable);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data) % kAlignment == 0;
  const bool has_tail = readable - bytes >= kTailBytes;
  point_input(i, tensor.data, !(aligned && has_tail));
  return {};
}

Status SessionState::prepare_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputSlot& slot = inputs_[i];
    if (!slot.set) {
      return Status(Error::kFailedPrecondition, "input '%.100s' was never set", input_name(i));
    }
    if (slot.copy_at_run && input_bytes(i) != 0) {
      std::memcpy(address_of(static_cast<size_t>(slot.value)), slot.bound, input_bytes(i));
    }
  }
  return {};
}

Status SessionState::run_node(size_t index) {
  const PlannedNode& node = plan_.nodes()[index];
  RunContext context;
  context.attrs = node.attrs;
  context.inputs = {operands_.data() + node.first_operand, node.input_count};
  context.outputs = {operands_.data() + node.first_operand + node.input_count, node.output_count};
  context.workspace = workspace_.data();
  context.backend = node.services;
  context.rebind = rebind_[index];
  LAZYRT_RETURN_IF_ERROR(node.kernel->run(node.prepared.state, context));
  rebind_[index] = false;
  return {};
}

Status SessionState::run_node_timed(size_t index) {
  const uint64_t begin = platform_ticks();
  const Status status = run_node(index);
  times_[index].nanoseconds += platform_ticks() - begin;
  ++times_[index].runs;
  return status;
}

Status SessionState::run_nodes() {
  for (size_t i = 0; i < plan_.nodes().size(); ++i) {
    const Status status = options_.profile ? run_node_timed(i) : run_node(i);
    if (!status.ok()) return status.with_context("%s", node_place(method_, i, *program_.ops).text);
  }
  return {};
}

Status SessionState::run() {
  has_run_ = false;
  LAZYRT_RETURN_IF_ERROR(prepare_inputs());
  if (stale_) refresh_operands();
  LAZYRT_RETURN_IF_ERROR(run_nodes());
  has_run_ = true;
  return {};
}

Result<TensorView> SessionState::output(size_t i) const {
  const size_t count = count_of(method_.outputs());
  if (i >= count)
    return Status(Error::kInvalidArgument, "there is no output %zu, the method has %zu", i, count);
  if (!has_run_) {
    return Status(Error::kFailedPrecondition,
                  "there is no result: the session has not run, or its last run failed");
  }
  return values_[static_cast<size_t>(method_.outputs()->Get(static_cast<uint32_t>(i))->value())];
}

SessionStats SessionState::stats() const {
  return {arena_.bytes(), plan_.workspace_bytes(), plan_.packed_weight_bytes()};
}

NodeInfo SessionState::node(size_t i) const {
  const PlannedNode& planned = plan_.nodes()[i];
  NodeInfo info;
  info.op = planned.op->name;
  info.backend = planned.backend->name;
  if (planned.fallback_reason != nullptr) info.fallback_reason = planned.fallback_reason;
  if (options_.profile) {
    info.nanoseconds = times_[i].nanoseconds;
    info.runs = times_[i].runs;
  }
  const int32_t source = method_.nodes()->Get(static_cast<uint32_t>(i))->source();
  if (source < 0) return info;
  const fb::Source& s = *method_.sources()->Get(static_cast<uint32_t>(source));
  info.aten = text_of(s.aten());
  info.module_path = text_of(s.module_path());
  info.file = text_of(s.file());
  info.line = s.line();
  return info;
}

}  // namespace lazyrt
