#include "runtime/exec/variant.h"

#include "runtime/exec/counter.h"

namespace lazyrt {

Status Variant::make_plan(const ProgramState& program, const fb::Method& method,
                          const fb::Method& texts, const SessionOptions& options,
                          CountedMemory* memory, BackendServices* services) {
  texts_ = &texts;
  ops_ = program.ops;
  allocator_ = memory->allocator();
  LAZYRT_RETURN_IF_ERROR(plan_.make(program, method, *options.backend, memory, services));
  return guards_.make(method, allocator_);
}

Status Variant::make_values(const ProgramState& program, const fb::Method& method,
                            const SharedMemory& memory, bool profile) {
  const size_t nodes = plan_.nodes().size();
  if (!values_.make(count_of(method.values()), allocator_) ||
      !operands_.make(plan_.operands().size(), allocator_) || !steps_.make(nodes, allocator_) ||
      !list_interface(method) || !follow_inputs(method)) {
    return no_memory_for_session();
  }
  if (profile && !times_.make(nodes, allocator_)) return no_memory_for_session();
  place_values(program, method, memory);
  for (size_t i = 0; i < operands_.size(); ++i) {
    const int32_t id = plan_.operands()[i];
    if (id >= 0) operands_[i] = values_[static_cast<size_t>(id)];
  }
  make_steps(memory.workspace);
  return {};
}

uint64_t Variant::bytes() const {
  return plan_.bytes() + guards_.bytes() + steps_.bytes() + values_.bytes() + inputs_.bytes() +
         outputs_.bytes() + next_of_states_.bytes() + followers_.bytes() + first_follower_.bytes() +
         operands_.bytes() + times_.bytes();
}

/// False when memory is short.
bool Variant::list_interface(const fb::Method& method) {
  if (!inputs_.make(count_of(method.inputs()), allocator_) ||
      !outputs_.make(count_of(method.outputs()), allocator_) ||
      !next_of_states_.make(count_of(method.states()), allocator_)) {
    return false;
  }
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    inputs_[i] = static_cast<uint32_t>(method.inputs()->Get(i)->value());
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    outputs_[i] = static_cast<uint32_t>(method.outputs()->Get(i)->value());
  for (uint32_t i = 0; i < next_of_states_.size(); ++i)
    next_of_states_[i] = static_cast<uint32_t>(method.states()->Get(i)->next());
  return true;
}

/// Views of an input move with it. False when memory is short.
bool Variant::follow_inputs(const fb::Method& method) {
  Array<int32_t> input_of;  // per value id: the input whose memory it is, or -1
  if (!input_of.make(values_.size(), allocator_) ||
      !first_follower_.make(inputs_.size() + 1, allocator_))
    return false;
  for (int32_t& input : input_of) input = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) input_of[inputs_[i]] = static_cast<int32_t>(i);
  for (size_t id = 0; id < input_of.size(); ++id) {
    const int32_t of = method.values()->Get(static_cast<uint32_t>(id))->alias_of();
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

void Variant::place_values(const ProgramState& program, const fb::Method& method,
                           const SharedMemory& memory) {
  for (size_t id = 0; id < values_.size(); ++id) {
    const fb::Value& v = *method.values()->Get(static_cast<uint32_t>(id));
    const TensorSpec spec = spec_of(v);
    values_[id] = {nullptr, spec.dtype, spec.shape};
    if (v.kind() == fb::ValueKind::Constant) {
      values_[id].data = const_cast<uint8_t*>(program.constant(v));
    } else if (v.kind() != fb::ValueKind::State) {
      values_[id].data = memory.arena + v.offset();
    }
  }
  for (size_t k = 0; k < memory.states.size(); ++k) {
    const fb::State& state = *method.states()->Get(static_cast<uint32_t>(k));
    values_[static_cast<size_t>(state.value())].data = memory.states[k];
  }
}

void Variant::make_steps(void* workspace) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const PlannedNode& node = plan_.nodes()[i];
    const TensorView* operands = operands_.data() + node.first_operand;
    RunContext& context = steps_[i].context;
    context.attrs = node.attrs;
    context.inputs = {operands, node.input_count};
    context.outputs = {operands + node.input_count, node.output_count};
    context.workspace = workspace;
    context.backend = node.services;
    steps_[i].run = node.kernel->run;
    steps_[i].state = node.prepared.state;
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
  for (size_t n = 0; n < steps_.size(); ++n) {
    const PlannedNode& node = plan_.nodes()[n];
    for (size_t k = 0; k < node.input_count + node.output_count; ++k) {
      const size_t i = node.first_operand + k;
      const int32_t id = plan_.operands()[i];
      if (id < 0 || operands_[i].data == values_[static_cast<size_t>(id)].data) continue;
      operands_[i].data = values_[static_cast<size_t>(id)].data;
      steps_[n].context.rebind = true;
    }
  }
  stale_ = false;
}

Status Variant::run_timed(size_t index) {
  const uint64_t begin = platform_ticks();
  const Status status = steps_[index].run(steps_[index].state, steps_[index].context);
  add_to(&times_[index].nanoseconds, platform_ticks() - begin);
  add_to(&times_[index].runs, 1);
  return status;
}

Status Variant::run(const RunStop& stop) {
  if (stale_) refresh_operands();
  size_t next_guard = 0;
  broke_guard_ = !guards_.hold(-1, values_.data(), &next_guard);
  const bool timed = times_.size() != 0;
  for (size_t i = 0; i < steps_.size() && !broke_guard_; ++i) {
    Step& step = steps_[i];
    const Status status = stop.is_due() ? stop.status()
                          : timed       ? run_timed(i)
                                        : step.run(step.state, step.context);
    if (!status.ok()) return status.with_context("%s", node_place(*texts_, i, *ops_).text);
    step.context.rebind = false;
    broke_guard_ = !guards_.hold(static_cast<int32_t>(i), values_.data(), &next_guard);
  }
  return broke_guard_ ? Status(Error::kGuardFailed, "a guard does not hold") : Status();
}

void Variant::continue_from(Variant* other) {
  guards_.continue_from(other->guards_);
  plan_.keep_reasons_of(&other->plan_);
  for (size_t i = 0; i < times_.size(); ++i) times_[i] = other->times_[i];
}

NodeInfo Variant::node(size_t i) const {
  const PlannedNode& planned = plan_.nodes()[i];
  NodeInfo info;
  info.op = planned.op->name;
  info.backend = planned.backend->name;
  if (planned.fallback_reason != nullptr) info.fallback_reason = planned.fallback_reason;
  if (times_.size() != 0) {
    info.nanoseconds = read_counter(times_[i].nanoseconds);
    info.runs = read_counter(times_[i].runs);
  }
  const int32_t source = texts_->nodes()->Get(static_cast<uint32_t>(i))->source();
  if (source < 0) return info;
  const fb::Source& s = *texts_->sources()->Get(static_cast<uint32_t>(source));
  info.aten = text_of(s.aten());
  info.module_path = text_of(s.module_path());
  info.file = text_of(s.file());
  info.line = s.line();
  return info;
}

}  // namespace lazyrt
