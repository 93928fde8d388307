#include "runtime/exec/variant.h"

#include <algorithm>
#include <cstring>

#include "runtime/platform/threads.h"

namespace lazyrt {
namespace {

// Step::run of a device's steps.

Fault submit(void* state, const RunContext&) {
  const auto& step = *static_cast<const DeviceStep*>(state);
  return step.device->submit(step.segment);
}

Fault copy_in(void* state, const RunContext& context) {
  const auto& step = *static_cast<const DeviceStep*>(state);
  const TensorView& from = context.inputs[0];
  if (from.bytes() == 0 || step.skipped != 0) return {};
  if (step.mapped != nullptr) {
    std::memcpy(step.mapped, from.data, from.bytes());
    return {};
  }
  return step.device->copy_in(step.services, context.outputs[0].data, from.data, from.bytes());
}

Fault copy_out(void* state, const RunContext& context) {
  const auto& step = *static_cast<const DeviceStep*>(state);
  const TensorView& from = context.inputs[0];
  if (from.bytes() == 0 || step.skipped != 0) return {};
  return step.device->copy_out(step.services, context.outputs[0].data, from.data, from.bytes());
}

Fault copy_state(void* state, const RunContext& context) {
  const auto& step = *static_cast<const DeviceStep*>(state);
  const TensorView& from = context.inputs[0];
  void* to = context.outputs[0].data;
  return to == from.data ? Fault() : step.device->copy(step.services, to, from.data, from.bytes());
}

Fault flush(void* state, const RunContext&) {
  const auto& step = *static_cast<const DeviceStep*>(state);
  return step.device->flush == nullptr ? Fault() : step.device->flush(step.services);
}

Fault wait(void* state, const RunContext&) {
  auto& step = *static_cast<DeviceStep*>(state);
  step.failed = 0;
  return step.device->wait(step.services, &step.failed);
}

}  // namespace

Fault Variant::make_plan(const ProgramState& program, size_t number, bool is_only,
                         const fb::Method& method, const fb::Method& texts,
                         const SessionOptions& options, CountedMemory* memory,
                         BackendServices* services, const RunStop& stop, Pool* pool) {
  texts_ = &texts;
  ops_ = program.ops;
  pool_ = pool;
  services_ = services;
  if (kCanWatch && options.watch != nullptr)
    LAZYRT_RETURN_IF_ERROR(watcher_.make(options.watch, number, texts, *ops_, pool));
  Planner planner(program, method, *options.backend, memory, services, pool, &plan_);
  planner.end_segments_behind(watcher_.tapped_nodes());
  LAZYRT_RETURN_IF_ERROR(planner.choose_all(stop));
  return make_guards(method, is_only);
}

Fault Variant::make_guards(const fb::Method& method, bool is_only) {
  Pool scratch(pool_->allocator());
  Span<bool> late;
  if (kDevices && is_only && count_of(method.guards()) != 0) {
    late = scratch.make<bool>(plan_.nodes().size());
    if (scratch.is_short()) return no_memory_for_session();
    for (size_t i = 0; i < late.size(); ++i) late[i] = plan_.nodes()[i].space != kHostSpace;
  }
  LAZYRT_RETURN_IF_ERROR(guards_.make(method, late, pool_));
  snapshots_ = pool_->make<uint64_t>(guards_.are_some_late() ? count_of(method.values()) : 0);
  return pool_->is_short() ? no_memory_for_session() : Fault();
}

Fault Variant::narrow_homes(const fb::Method& method, Span<StateHome> homes) const {
  constexpr uint8_t kHostBit = 1 << kHostSpace;
  struct Use {
    uint8_t read_in;  ///< a bit for each space
    uint8_t made_in;
  };
  const void* kept = pool_->last();
  const auto uses = pool_->make<Use>(count_of(method.values()));
  if (pool_->is_short()) return no_memory_for_session();
  for (const PlannedNode& node : plan_.nodes()) {
    for (size_t i = node.first_operand; i < node.operands_end(); ++i) {
      const int32_t id = plan_.operands()[i];
      if (id < 0) continue;
      Use& use = uses[static_cast<size_t>(id)];
      const bool is_input = i < node.first_operand + node.input_count;
      (is_input ? use.read_in : use.made_in) |= static_cast<uint8_t>(1 << node.space);
    }
  }
  for (uint32_t i = 0; i < count_of(method.guards()); ++i)
    uses[static_cast<size_t>(guard_at(method, i).value())].read_in |= kHostBit;
  for (uint32_t k = 0; k < homes.size(); ++k) {
    const fb::State& state = state_at(method, k);
    const uint8_t read_in = uses[static_cast<size_t>(state.value())].read_in;
    const bool stays = state.next() == state.value();
    const uint8_t made_in = uses[static_cast<size_t>(state.next())].made_in;
    uint8_t allowed = stays ? UINT8_MAX : made_in;
    if (read_in != 0) allowed = static_cast<uint8_t>(allowed & read_in);
    if ((read_in & (read_in - 1)) != 0) allowed = 0;  // read in several spaces
    homes[k].allowed &= static_cast<uint8_t>(allowed | kHostBit);
    homes[k].wanted |= static_cast<uint8_t>(read_in | (stays ? 0 : made_in));
  }
  pool_->forget_since(kept);
  return {};
}

Fault Variant::make_steps_list(const ProgramState& program, const fb::Method& method,
                               const SessionOptions& options, CountedMemory* memory,
                               Span<const uint8_t> homes) {
  next_of_states_ = pool_->make<NextOfState>(homes.size());
  if (pool_->is_short()) return no_memory_for_session();
  for (uint32_t k = 0; k < homes.size(); ++k)
    next_of_states_[k] = {static_cast<uint32_t>(state_at(method, k).next()), homes[k]};
  Planner planner(program, method, *options.backend, memory, nullptr, pool_, &plan_);
  return planner.list_steps(homes, guards_.are_some_late());
}

TensorView Variant::next_of_state(size_t k) const {
  const NextOfState& next = next_of_states_[k];
  TensorView view = values_[next.value];
  if (kDevices && next.space != kHostSpace)
    view.data = place_in(static_cast<int32_t>(next.value), next.space, next.there);
  return view;
}

Fault Variant::make_values(const fb::Method& method, const SharedMemory& memory, bool profile) {
  const size_t steps = plan_.steps().size();
  values_ = pool_->make<TensorView>(count_of(method.values()));
  operands_ = pool_->make<TensorView>(plan_.operands().size() + 2 * plan_.device_step_count());
  steps_ = pool_->make<Step>(steps);
  device_steps_ = pool_->make<DeviceStep>(plan_.device_step_count());
  times_ = pool_->make<NodeTime>(profile ? steps : 0);
  if (kDevices && profile && !device_steps_.empty()) {
    for (Span<uint64_t>* times : {&node_times_, &last_times_})
      *times = pool_->make<uint64_t>(plan_.nodes().size());
  }
  LAZYRT_RETURN_IF_ERROR(list_interface(method));
  LAZYRT_RETURN_IF_ERROR(find_movables(method));
  place_values(method, memory);
  place_operands(method, memory);
  if (watcher_.is_active()) LAZYRT_RETURN_IF_ERROR(watcher_.make_copies(plan_, operands_));
  return make_steps(method, memory);
}

Fault Variant::list_interface(const fb::Method& method) {
  inputs_ = pool_->make<uint32_t>(count_of(method.inputs()));
  outputs_ = pool_->make<Output>(count_of(method.outputs()));
  if (pool_->is_short()) return no_memory_for_session();
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    inputs_[i] = static_cast<uint32_t>(input_at(method, i).value());
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    outputs_[i].value = static_cast<uint32_t>(output_at(method, i).value());
  return {};
}

/// Finds values that share memory and so move together: views, and values that are written over
/// others.
Fault Variant::find_movables(const fb::Method& method) {
  movable_of_ = pool_->make<int32_t>(values_.size());
  movables_ = pool_->make<Movable>(inputs_.size() + outputs_.size());
  const void* kept = pool_->last();
  const auto value = [&](size_t id) -> const fb::Value& { return value_at(method, id); };
  const auto roots = pool_->make<uint32_t>(values_.size());  // per value: the first in its memory
  if (pool_->is_short()) return no_memory_for_session();
  for (size_t id = 0; id < roots.size(); ++id) {
    const int32_t of = value(id).alias_of();
    roots[id] = of < 0 ? static_cast<uint32_t>(id) : roots[static_cast<size_t>(of)];
    movable_of_[id] = -1;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) movable_of_[inputs_[i]] = static_cast<int32_t>(i);
  auto next = static_cast<int32_t>(inputs_.size());
  for (const Output& output : outputs_) {
    int32_t& movable = movable_of_[roots[output.value]];
    if (movable < 0 && value(roots[output.value]).kind() == fb::ValueKind::Arena) movable = next++;
  }
  for (size_t id = 0; id < roots.size(); ++id) movable_of_[id] = movable_of_[roots[id]];
  for (Output& output : outputs_) {
    const int32_t movable = movable_of_[output.value];
    output.movable = movable < static_cast<int32_t>(inputs_.size()) ? -1 : movable;
  }
  pool_->forget_since(kept);
  return find_makers();
}

/// Finds where each output is made, and whether it is the same value as another output.
Fault Variant::find_makers() {
  struct Seen {
    uint32_t outputs;
    uint8_t made_in;
  };
  static_assert(kHostSpace == 0, "elements begin as zeros");
  const void* kept = pool_->last();
  const auto seen = pool_->make<Seen>(values_.size());
  if (pool_->is_short()) return no_memory_for_session();
  for (const Output& output : outputs_) ++seen[output.value].outputs;
  for (const PlannedNode& node : plan_.nodes()) {
    for (size_t i = node.first_operand + node.input_count; i < node.operands_end(); ++i) {
      const int32_t id = plan_.operands()[i];
      if (id >= 0) seen[static_cast<size_t>(id)].made_in = node.space;
    }
  }
  for (Output& output : outputs_) {
    output.made_in = seen[output.value].made_in;
    output.is_only = seen[output.value].outputs == 1;
  }
  pool_->forget_since(kept);
  return {};
}

bool Variant::runs_only_in(int space) const {
  const auto nodes = plan_.nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [space](const PlannedNode& node) { return node.space == space; });
}

void Variant::place_values(const fb::Method& method, const SharedMemory& memory) {
  const SpaceMemory& host = memory.spaces[kHostSpace];
  for (size_t id = 0; id < values_.size(); ++id) {
    const fb::Value& v = value_at(method, id);
    const uint8_t* data = nullptr;
    if (v.kind() == fb::ValueKind::Constant) {
      data = host.constants + v.offset();
    } else if (v.kind() != fb::ValueKind::State) {
      data = host.arena + v.offset();
    }
    values_[id] = view_of(v, data);
  }
  arena_bytes_ = memory.arena_bytes;
  for (int space = 0; space < kMostSpaces; ++space) {
    arenas_[space] = memory.spaces[space].arena;
    if (memory.spaces[space].host_arena != nullptr) mapped_ = static_cast<uint8_t>(space);
  }
  for (size_t id = 0; id < values_.size(); ++id) {
    if (movable_of_[id] < 0) continue;
    Movable& movable = movables_[static_cast<size_t>(movable_of_[id])];
    movable.host = static_cast<uint8_t*>(values_[id].data);
    movable.offset = value_at(method, id).offset();
  }
  for (size_t k = 0; k < memory.states.size(); ++k) {
    const fb::State& state = state_at(method, k);
    values_[static_cast<size_t>(state.value())].data = place_at(host.states, memory.states[k]);
  }
}

/// Returns a value as that space has it: at the same offset in its kind of memory.
TensorView Variant::view_in(int32_t id, int space, const fb::Method& method,
                            const SharedMemory& memory) const {
  if (id < 0) return {};
  TensorView view = values_[static_cast<size_t>(id)];
  if (!kDevices || space == kHostSpace) return view;
  const SpaceMemory& host = memory.spaces[kHostSpace];
  const SpaceMemory& there = memory.spaces[space];
  const fb::Value& v = value_at(method, id);
  if (v.kind() == fb::ValueKind::Constant) {
    view.data = nullptr;  // the device has its own
  } else if (v.kind() == fb::ValueKind::State) {
    view.data = place_at(there.states, reinterpret_cast<uintptr_t>(view.data) -
                                           reinterpret_cast<uintptr_t>(host.states));
  } else {
    view.data = there.arena + v.offset();
  }
  return view;
}

void Variant::place_operands(const fb::Method& method, const SharedMemory& memory) {
  for (const PlannedNode& node : plan_.nodes()) {
    for (size_t i = node.first_operand; i < node.operands_end(); ++i)
      operands_[i] = view_in(plan_.operands()[i], node.space, method, memory);
  }
  for (NextOfState& next : next_of_states_) {
    const auto id = static_cast<int32_t>(next.value);
    next.there = static_cast<uint8_t*>(view_in(id, next.space, method, memory).data);
  }
}

void Variant::make_node_step(const PlannedNode& node, void* workspace, Step* step) const {
  const TensorView* operands = operands_.data() + node.first_operand;
  step->context.attrs = node.attrs;
  step->context.inputs = {operands, node.input_count};
  step->context.outputs = {operands + node.input_count, node.output_count};
  step->context.workspace = workspace;
  step->context.backend = node.services;
  step->run = node.kernel->run;
  step->state = node.prepared.state;
}

Fault Variant::bind_segment(uint32_t first, DeviceStep* step) const {
  const PlannedNode& head = plan_.nodes()[first];
  const PlannedNode& last = plan_.nodes()[first + head.segment_nodes - 1];
  const Fault status = step->device->bind(
      step->segment,
      {operands_.data() + head.first_operand, last.operands_end() - head.first_operand},
      step->workspace);
  step->is_bound = status.ok();
  return status;
}

Fault Variant::make_segment_step(uint32_t first, DeviceStep* device, Step* step) const {
  device->segment = plan_.nodes()[first].prepared.state;
  step->run = submit;
  return bind_segment(first, device);
}

void Variant::make_copy_step(const PlannedStep& planned, TensorView host, TensorView there,
                             TensorView* operands, Step* step) const {
  const bool is_in = planned.kind == PlannedStep::Kind::kCopyIn;
  if (planned.kind == PlannedStep::Kind::kSnapshot)
    host.data = const_cast<uint64_t*>(&snapshots_[planned.index]);
  operands[0] = is_in ? host : there;
  operands[1] = is_in ? there : host;
  step->context.inputs = {operands, 1};
  step->context.outputs = {operands + 1, 1};
  step->run = is_in ? copy_in : copy_out;
}

/// Makes the step of a copy, a flush or a wait. `operands`: for a copy.
void Variant::make_device_step(const PlannedStep& planned, const fb::Method& method,
                               const SharedMemory& memory, TensorView* operands, Step* step) {
  if (planned.kind == PlannedStep::Kind::kCopyState) {
    step->run = copy_state;
    step->context.inputs = {operands, 1};
    step->context.outputs = {operands + 1, 1};
    operands[1] = view_in(state_at(method, planned.index).value(), planned.space, method, memory);
    point_state_copy(planned.index, *step);
    return;
  }
  if (!planned.is_copy()) {
    step->run = planned.kind == PlannedStep::Kind::kWait ? wait : flush;
    return;
  }
  const auto id = static_cast<int32_t>(planned.index);
  make_copy_step(planned, values_[planned.index], view_in(id, planned.space, method, memory),
                 operands, step);
  settle_copy(planned, *step);
}

Fault Variant::make_steps(const fb::Method& method, const SharedMemory& memory) {
  DeviceStep* device = device_steps_.data();
  TensorView* copied = operands_.data() + plan_.operands().size();
  for (size_t i = 0; i < steps_.size(); ++i) {
    const PlannedStep& planned = plan_.steps()[i];
    Step& step = steps_[i];
    void* workspace = memory.spaces[planned.space].workspace;
    if (!kDevices || planned.kind == PlannedStep::Kind::kNode) {
      make_node_step(plan_.nodes()[planned.index], workspace, &step);
      step.after = static_cast<int32_t>(planned.index) - 1;
      continue;
    }
    const BackendServices::Slot& slot = services_->slot(slot_of_space(planned.space));
    *device = {slot.backend->device, slot.services, nullptr, workspace};
    step.state = device;
    if (planned.kind == PlannedStep::Kind::kSegment) {
      LAZYRT_RETURN_IF_ERROR(make_segment_step(planned.index, device, &step));
      step.after = static_cast<int32_t>(planned.index) - 1;
    } else {
      make_device_step(planned, method, memory, copied, &step);
      copied += 2;
    }
    const bool is_kept = planned.kind == PlannedStep::Kind::kCopyState;
    if (is_kept) step.after = static_cast<int32_t>(plan_.nodes().size()) - 1;
    if (is_kept && last_stop_ == SIZE_MAX) last_stop_ = i;
    ++device;
  }
  return {};
}

void Variant::release_outputs() {
  for (size_t m = inputs_.size(); m < movables_.size(); ++m) {
    Movable& movable = movables_[m];
    if (!movable.is_bound) continue;
    movable.is_bound = false;
    movable.space = kHostSpace;
    movable.host = arenas_[kHostSpace] + movable.offset;
    stale_ = true;
  }
}

bool Variant::bind_output(size_t i, void* data, int space) {
  const Output& output = outputs_[i];
  if (output.movable < 0) return false;
  Movable& movable = movables_[static_cast<size_t>(output.movable)];
  if (movable.is_bound || (space != kHostSpace && output.made_in != space)) return false;
  if (kDevices && space == kHostSpace && mapped_ != kHostSpace) return false;
  movable.is_bound = true;
  movable.space = static_cast<uint8_t>(space);
  movable.bound_value = output.is_only ? output.value : UINT32_MAX;
  (space == kHostSpace ? movable.host : movable.there) = static_cast<uint8_t*>(data);
  stale_ = true;
  return true;
}

const uint8_t* Variant::home_of_output(size_t i) const {
  const int32_t movable = outputs_[i].movable;
  if (movable < 0) return nullptr;
  return arenas_[kHostSpace] + movables_[static_cast<size_t>(movable)].offset;
}

/// Returns where a value is in a device's space: where it is bound, else its fixed place.
uint8_t* Variant::place_in(int32_t id, uint8_t space, void* fixed) const {
  const int32_t m = movable_of_[static_cast<size_t>(id)];
  if (m < static_cast<int32_t>(inputs_.size())) return static_cast<uint8_t*>(fixed);
  const Movable& movable = movables_[static_cast<size_t>(m)];
  return movable.space == space ? movable.there : arenas_[space] + movable.offset;
}

/// Brings the pointers of values and operands up to date.
Fault Variant::refresh_operands() {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (movable_of_[id] >= 0)
      values_[id].data = movables_[static_cast<size_t>(movable_of_[id])].host;
  }
  for (size_t i = 0; i < steps_.size(); ++i) LAZYRT_RETURN_IF_ERROR(refresh_step(i));
  stale_ = false;
  return {};
}

Fault Variant::refresh_step(size_t index) {
  const PlannedStep& planned = plan_.steps()[index];
  Step& step = steps_[index];
  if (!kDevices) {
    refresh_node(plan_.nodes()[planned.index], &step.context);
    return {};
  }
  switch (planned.kind) {
    case PlannedStep::Kind::kNode:
      refresh_node(plan_.nodes()[planned.index], &step.context);
      return {};
    case PlannedStep::Kind::kSegment:
      return refresh_segment(planned, static_cast<DeviceStep*>(step.state));
    case PlannedStep::Kind::kCopyState:
      point_state_copy(planned.index, step);
      return {};
    case PlannedStep::Kind::kFlush:
    case PlannedStep::Kind::kWait:
      return {};
    default:
      refresh_copy(planned, &step);
      return {};
  }
}

void Variant::refresh_node(const PlannedNode& node, RunContext* context) {
  for (size_t i = node.first_operand; i < node.operands_end(); ++i) {
    const int32_t id = plan_.operands()[i];
    if (id < 0 || operands_[i].data == values_[static_cast<size_t>(id)].data) continue;
    operands_[i].data = values_[static_cast<size_t>(id)].data;
    context->rebind = true;
  }
}

/// Binds the segment again if an address has changed or its last bind failed.
Fault Variant::refresh_segment(const PlannedStep& planned, DeviceStep* step) {
  const uint32_t end = planned.index + plan_.nodes()[planned.index].segment_nodes;
  bool has_moved = false;
  for (uint32_t n = planned.index; n < end; ++n) {
    const PlannedNode& node = plan_.nodes()[n];
    for (size_t i = node.first_operand; i < node.operands_end(); ++i) {
      const int32_t id = plan_.operands()[i];
      if (id < 0) continue;
      uint8_t* data = place_in(id, planned.space, operands_[i].data);
      has_moved = has_moved || data != operands_[i].data;
      operands_[i].data = data;
    }
  }
  return has_moved || !step->is_bound ? bind_segment(planned.index, step) : Fault();
}

void Variant::refresh_copy(const PlannedStep& planned, Step* step) {
  const auto id = static_cast<int32_t>(planned.index);
  TensorView* from = operands_.data() + (step->context.inputs.data() - operands_.data());
  const bool is_in = planned.kind == PlannedStep::Kind::kCopyIn;
  TensorView& host = is_in ? from[0] : from[1];
  TensorView& there = is_in ? from[1] : from[0];
  if (planned.kind != PlannedStep::Kind::kSnapshot) host.data = values_[planned.index].data;
  there.data = place_in(id, planned.space, there.data);
  settle_copy(planned, *step);
}

void Variant::point_state_copy(uint32_t state, const Step& step) const {
  operands_[static_cast<size_t>(step.context.inputs.data() - operands_.data())] =
      next_of_state(state);
}

/// Decides whether the copy is needed, and whether the host itself can do it.
void Variant::settle_copy(const PlannedStep& planned, const Step& step) const {
  auto& device = *static_cast<DeviceStep*>(step.state);
  const bool is_in = planned.kind == PlannedStep::Kind::kCopyIn;
  const TensorView& from = step.context.inputs[0];
  const TensorView& to = step.context.outputs[0];
  const uintptr_t offset = reinterpret_cast<uintptr_t>((is_in ? to : from).data) -
                           reinterpret_cast<uintptr_t>(arenas_[planned.space]);
  const bool is_mapped = planned.space == mapped_ && offset < arena_bytes_;
  device.mapped = is_mapped ? arenas_[kHostSpace] + offset : nullptr;
  const bool is_one_place = device.mapped != nullptr && device.mapped == (is_in ? from : to).data;
  set_counter(&device.skipped, is_one_place || is_only_bound_there(planned) ? 1 : 0);
}

/// Whether this is a copy to the host that only an output needs which is bound to the device's
/// memory.
bool Variant::is_only_bound_there(const PlannedStep& copy) const {
  if (!copy.for_outputs || copy.kind != PlannedStep::Kind::kCopyOut) return false;
  const int32_t m = movable_of_[copy.index];
  if (m < static_cast<int32_t>(inputs_.size())) return false;
  const Movable& movable = movables_[static_cast<size_t>(m)];
  return movable.is_bound && movable.space == copy.space && movable.bound_value == copy.index;
}

/// Runs the step and waits for the device, so that each step has its own time.
Fault Variant::run_timed(size_t index) {
  const uint64_t begin = platform_ticks();
  Fault status = steps_[index].run(steps_[index].state, steps_[index].context);
  if (kDevices && status.ok() && plan_.steps()[index].kind != PlannedStep::Kind::kNode)
    status = wait(steps_[index].state, {});
  const uint64_t end = platform_ticks();
  if (!times_.empty()) {
    add_to(&times_[index].nanoseconds, end - begin);
    add_to(&times_[index].runs, 1);
  }
  if (kDevices && status.ok() && measures_nodes(index)) status = add_node_times(index);
  if (!watcher_.has_spans()) return status;
  FirstFault first;  // whatever the watch's hook calls
  first.add(status);
  tell_span(index, begin, end, first.ok());
  return first;
}

/// Whether the step is a segment whose device measures its nodes one by one.
bool Variant::measures_nodes(size_t index) const {
  if (node_times_.empty() || plan_.steps()[index].kind != PlannedStep::Kind::kSegment) return false;
  return static_cast<const DeviceStep*>(steps_[index].state)->device->times != nullptr;
}

Fault Variant::add_node_times(size_t index) {
  const PlannedStep& step = plan_.steps()[index];
  const auto& device = *static_cast<const DeviceStep*>(steps_[index].state);
  const Span<uint64_t> last = last_times_.subspan(step.index, nodes_of(step));
  LAZYRT_RETURN_IF_ERROR(device.device->times(device.segment, last));
  for (size_t i = 0; i < last.size(); ++i) add_to(&node_times_[step.index + i], last[i]);
  return {};
}

size_t Variant::nodes_of(const PlannedStep& step) const {
  if (step.kind == PlannedStep::Kind::kNode) return 1;
  return step.kind == PlannedStep::Kind::kSegment ? plan_.nodes()[step.index].segment_nodes : 0;
}

void Variant::tell_span(size_t index, uint64_t begin, uint64_t end, bool ok) const {
  const PlannedStep& step = plan_.steps()[index];
  const NodeInfo info = line_of(index, step.first_line);
  RunSpan span;
  span.nodes = nodes_of(step);
  span.kind = span.nodes != 0 ? RunSpan::Kind::kNode : RunSpan::Kind::kCopy;
  span.begin = begin;
  span.end = end;
  span.node = &info;
  span.ok = ok;
  watcher_.tell(span);
}

/// Hands out the taps of the step's last node: segments end where a node is tapped.
Fault Variant::take_taps(size_t index) const {
  const PlannedStep& step = plan_.steps()[index];
  const size_t nodes = nodes_of(step);
  if (nodes == 0 || !watcher_.taps(step.index + nodes - 1)) return {};
  const bool on_host = step.kind == PlannedStep::Kind::kNode;
  return watcher_.take(plan_, step.index + nodes - 1, operands_,
                       on_host ? nullptr : &services_->slot(slot_of_space(step.space)));
}

/// Runs one step of a session that profiles or is watched.
Fault Variant::run_step(size_t index) {
  LAZYRT_RETURN_IF_ERROR(run_timed(index));
  return take_taps(index);
}

Fault Variant::broken_guard() {
  broke_guard_ = true;
  const int reached = guards_.broken_after() + 1;
  reached_ = static_cast<size_t>(reached);
  return Fault(Error::kGuardFailed, "a guard does not hold");
}

/// A run that is stopped asks no guards.
void Variant::note_failure(size_t step, bool is_stop) {
  const PlannedStep& planned = plan_.steps()[step];
  reached_ = 0;
  if (!kDevices || is_stop) return;
  if (planned.kind == PlannedStep::Kind::kNode) {
    reached_ = planned.index;
    return;
  }
  auto& device = *static_cast<DeviceStep*>(steps_[step].state);
  reached_ = device.failed;
  device.failed = 0;
}

Fault Variant::run_steps(const RunStop& stop) {
  const auto view = [this](size_t id) -> const TensorView& { return values_[id]; };
  size_t next_guard = 0;
  const bool observed = !times_.empty() || watcher_.is_active();
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (!guards_.hold(step.after, view, &next_guard)) return broken_guard();
    const bool is_stop = i <= last_stop_ && stop.is_due();
    const Fault status = is_stop    ? stop.status()
                         : observed ? run_step(i)
                                    : step.run(step.state, step.context);
    if (!status.ok()) {
      note_failure(i, is_stop);
      return with_place(i, status);
    }
    step.context.rebind = false;
  }
  const auto last = static_cast<int32_t>(plan_.nodes().size()) - 1;
  return guards_.hold(last, view, &next_guard) ? Fault() : broken_guard();
}

/// Waits until no device works any more. An error that a device reports only then is the run's
/// error, unless an earlier node failed.
void Variant::wait_for_devices(FirstFault* first) {
  for (int space = kHostSpace + 1; space < kMostSpaces; ++space) {
    if (!plan_.uses(space)) continue;
    const BackendServices::Slot& slot = services_->slot(slot_of_space(space));
    size_t failed = 0;
    const Fault waited = slot.backend->device->wait(slot.services, &failed);
    if (waited.ok() || failed >= reached_) continue;
    *first = FirstFault();
    first->add(
        waited.with_context("method '%.30s', on %s", text_of(texts_->name()), slot.backend->name));
    reached_ = failed;
    broke_guard_ = false;
  }
}

/// Returns the first error in the order of the method: a guard that does not hold hides errors
/// behind it.
Fault Variant::end_run(const Fault& status) {
  FirstFault first;
  first.add(status);
  wait_for_devices(&first);
  const auto view = [this](size_t id) {
    TensorView seen = values_[id];
    seen.data = &snapshots_[id];
    return seen;
  };
  return guards_.hold_late(reached_, view) ? Fault(first) : broken_guard();
}

Fault Variant::run(const RunStop& stop) {
  broke_guard_ = false;
  reached_ = SIZE_MAX;
  Fault status = stale_ ? refresh_operands() : Fault();
  if (status.ok()) {
    status = run_steps(stop);
  } else {
    reached_ = 0;
  }
  if (kDevices && !device_steps_.empty()) status = end_run(status);
  if (broke_guard_) guards_.count_refusal();
  return status;
}

Fault Variant::with_place(size_t step, const Fault& status) const {
  const PlannedStep& planned = plan_.steps()[step];
  if (!kDevices || planned.kind == PlannedStep::Kind::kNode)
    return node_place(*texts_, planned.index, *ops_).of(planned.index, status);
  const char* backend = services_->slot(slot_of_space(planned.space)).backend->name;
  return status.with_context("method '%.30s', on %s", text_of(texts_->name()), backend);
}

void Variant::continue_from(const Variant& other) {
  guards_.continue_from(other.guards_);
  if (times_.size() != other.times_.size() || node_times_.size() != other.node_times_.size())
    return;
  for (size_t i = 0; i < times_.size(); ++i) times_[i] = other.times_[i];
  for (size_t i = 0; i < node_times_.size(); ++i) node_times_[i] = other.node_times_[i];
}

void Variant::describe_node(size_t node, NodeInfo* info) const {
  const PlannedNode& planned = plan_.nodes()[node];
  info->op = planned.op->name;
  info->backend = planned.backend->name;
  if (planned.fallback_reason != nullptr) info->fallback_reason = planned.fallback_reason;
  describe_source(*texts_, node_at(*texts_, node).source(), info);
}

void Variant::describe_copy(const PlannedStep& step, bool is_skipped, NodeInfo* info) const {
  const bool is_in = step.kind == PlannedStep::Kind::kCopyIn;
  const Backend& backend = *services_->slot(slot_of_space(step.space)).backend;
  info->is_copy = true;
  info->op = is_in ? "copy_in" : "copy_out";
  info->backend = backend.name;
  info->value = text_of(value_at(*texts_, step.index).name());
  info->copied_bytes = is_skipped ? 0 : values_[step.index].bytes();
}

NodeInfo Variant::line(size_t i) const {
  const auto steps = plan_.steps();
  const PlannedStep* next =
      std::upper_bound(steps.begin(), steps.end(), i,
                       [](size_t line, const PlannedStep& step) { return line < step.first_line; });
  return line_of(static_cast<size_t>(next - steps.begin()) - 1, i);
}

NodeInfo Variant::line_of(size_t index, size_t i) const {
  const PlannedStep& step = plan_.steps()[index];
  NodeInfo info;
  if (step.kind == PlannedStep::Kind::kNode || step.kind == PlannedStep::Kind::kSegment) {
    describe_node(step.index + (i - step.first_line), &info);
  } else {
    const auto& copy = *static_cast<const DeviceStep*>(steps_[index].state);
    describe_copy(step, read_counter(copy.skipped) != 0, &info);
  }
  if (times_.empty()) return info;
  info.runs = read_counter(times_[index].runs);
  if (kDevices && measures_nodes(index)) {
    info.nanoseconds = read_counter(node_times_[step.index + (i - step.first_line)]);
  } else if (i == step.first_line) {
    info.nanoseconds = read_counter(times_[index].nanoseconds);
  }
  return info;
}

}  // namespace lazyrt
