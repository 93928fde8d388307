#include "runtime/exec/variant.h"

#include "runtime/exec/counter.h"

namespace lazyrt {

Status Variant::make_plan(const ProgramState& program, const fb::Method& method,
                          const SessionOptions& options, CountedMemory* memory,
                          BackendServices* services) {
  program_ = &program;
  method_ = &method;
  allocator_ = memory->allocator();
  LAZYRT_RETURN_IF_ERROR(plan_.make(program, method, *options.backend, memory, services));
  return guards_.make(method, allocator_);
}

Status Variant::make_values(const SharedMemory& memory, bool profile) {
  memory_ = memory;
  const size_t count = count_of(method_->values());
  if (!values_.make(count, allocator_) || !operands_.make(plan_.operands().size(), allocator_) ||
      !rebind_.make(plan_.nodes().size(), allocator_)) {
    return no_memory_for_session();
  }
  if (profile && !times_.make(plan_.nodes().size(), allocator_)) return no_memory_for_session();
  for (bool& rebind : rebind_) rebind = true;
  if (!follow_inputs()) return no_memory_for_session();
  place_values();
  for (size_t i = 0; i < operands_.size(); ++i) {
    const int32_t id = plan_.operands()[i];
    if (id >= 0) operands_[i] = values_[static_cast<size_t>(id)];
  }
  return {};
}

/// Views of an input move with it. False when memory is short.
bool Variant::follow_inputs() {
  const size_t inputs = count_of(method_->inputs());
  Array<int32_t> input_of;  // per value id: the input whose memory it is, or -1
  if (!input_of.make(values_.size(), allocator_) || !first_follower_.make(inputs + 1, allocator_))
    return false;
  for (int32_t& input : input_of) input = -1;
  for (size_t i = 0; i < inputs; ++i) input_of[input_id(i)] = static_cast<int32_t>(i);
  for (size_t id = 0; id < input_of.size(); ++id) {
    const int32_t of = value(id).alias_of();
    if (of >= 0) input_of[id] = input_of[static_cast<size_t>(of)];
    if (input_of[id] >= 0) ++first_follower_[static_cast<size_t>(input_of[id])];
  }
  uint32_t total = 0;
  for (uint32_t& count : first_follower_) count = total += count;  // now the end of each one's
  if (!followers_.make(total, allocator_)) return false;
  for (size_t id = input_of.size(); id-- > 0;) {
    if (input_of[id] < 0) continue;
    followers_[--first_follower_[static_cast<size_t>(input_of[id])]] = static_cast<uint32_t>(id);
  }
  return true;
}

void Variant::place_values() {
  for (size_t id = 0; id < values_.size(); ++id) {
    const fb::Value& v = value(id);
    const TensorSpec spec = spec_of(v);
    values_[id] = {nullptr, spec.dtype, spec.shape};
    if (v.kind() == fb::ValueKind::Constant) {
      values_[id].data = const_cast<uint8_t*>(program_->constant(v));
    } else if (v.kind() != fb::ValueKind::State) {
      values_[id].data = memory_.arena + v.offset();
    }
  }
  for (size_t k = 0; k < memory_.states.size(); ++k) {
    const fb::State& state = *method_->states()->Get(static_cast<uint32_t>(k));
    values_[static_cast<size_t>(state.value())].data = memory_.states[k];
  }
}

void Variant::point_input(size_t i, void* data) {
  if (input(i).data == data) return;
  for (uint32_t k = first_follower_[i]; k < first_follower_[i + 1]; ++k) {
    values_[followers_[k]].data = data;
  }
  stale_ = true;
}

/// Brings the operands' pointers up to date and marks the nodes concerned.
void Variant::refresh_operands() {
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

Status Variant::run_node(size_t index) {
  const PlannedNode& node = plan_.nodes()[index];
  RunContext context;
  context.attrs = node.attrs;
  context.inputs = {operands_.data() + node.first_operand, node.input_count};
  context.outputs = {operands_.data() + node.first_operand + node.input_count, node.output_count};
  context.workspace = memory_.workspace;
  context.backend = node.services;
  context.rebind = rebind_[index];
  LAZYRT_RETURN_IF_ERROR(node.kernel->run(node.prepared.state, context));
  rebind_[index] = false;
  return {};
}

Status Variant::run_node_timed(size_t index) {
  const uint64_t begin = platform_ticks();
  const Status status = run_node(index);
  add_to(&times_[index].nanoseconds, platform_ticks() - begin);
  add_to(&times_[index].runs, 1);
  return status;
}

Status Variant::run(const RunStop& stop) {
  if (stale_) refresh_operands();
  size_t next_guard = 0;
  LAZYRT_RETURN_IF_ERROR(guards_.check(-1, values_.data(), &next_guard));
  const bool timed = times_.size() != 0;
  for (size_t i = 0; i < plan_.nodes().size(); ++i) {
    const Status status = stop.is_due() ? stop.status() : timed ? run_node_timed(i) : run_node(i);
    if (!status.ok())
      return status.with_context("%s", node_place(*method_, i, *program_->ops).text);
    LAZYRT_RETURN_IF_ERROR(guards_.check(static_cast<int32_t>(i), values_.data(), &next_guard));
  }
  return {};
}

const TensorView& Variant::next_of_state(size_t k) const {
  return values_[static_cast<size_t>(method_->states()->Get(static_cast<uint32_t>(k))->next())];
}

void Variant::continue_from(Variant* other) {
  guards_.continue_from(other->guards_);
  plan_.keep_reasons_of(&other->plan_);
  for (size_t i = 0; i < times_.size(); ++i) times_[i] = other->times_[i];
}

NodeInfo Variant::node(size_t i, const fb::Method& texts) const {
  const PlannedNode& planned = plan_.nodes()[i];
  NodeInfo info;
  info.op = planned.op->name;
  info.backend = planned.backend->name;
  if (planned.fallback_reason != nullptr) info.fallback_reason = planned.fallback_reason;
  if (times_.size() != 0) {
    info.nanoseconds = read_counter(times_[i].nanoseconds);
    info.runs = read_counter(times_[i].runs);
  }
  const int32_t source = texts.nodes()->Get(static_cast<uint32_t>(i))->source();
  if (source < 0) return info;
  const fb::Source& s = *texts.sources()->Get(static_cast<uint32_t>(source));
  info.aten = text_of(s.aten());
  info.module_path = text_of(s.module_path());
  info.file = text_of(s.file());
  info.line = s.line();
  return info;
}

}  // namespace lazyrt
