#include "runtime/exec/planner.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/log.h"
#include "runtime/core/profile.h"
#include "runtime/exec/node_share.h"
#include "runtime/op/attrs_copy.h"

namespace lazyrt {
namespace {

Fault no_memory() { return Fault(Error::kOutOfMemory, "no memory for the plan of a session"); }

/// If a kernel refuses a node, the next backend is asked; any other error ends the making of the
/// session.
bool is_refusal(const Fault& status) { return status.error() == Error::kUnsupported; }

}  // namespace

Planner::Planner(const ProgramState& program, const fb::Method& method, const Backend& backend,
                 CountedMemory* memory, BackendServices* services, Pool* pool, Plan* plan)
    : program_(program),
      method_(method),
      backend_(backend),
      memory_(memory),
      services_(services),
      allocator_(memory->allocator()),
      pool_(pool),
      plan_(*plan),
      scratch_(allocator_) {}

Fault Planner::list_operands() {
  size_t total = 0, most = 0;
  const size_t count = count_of(method_.nodes());
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Node& node = node_at(method_, i);
    const size_t operands = lazyrt::inputs_of(node).size() + lazyrt::outputs_of(node).size();
    total += operands;
    most = operands > most ? operands : most;
  }
  plan_.nodes_ = pool_->make<PlannedNode>(count);
  plan_.operands_ = pool_->make<int32_t>(total);
  specs_ = scratch_.make<TensorSpec>(most);
  if (pool_->is_short() || scratch_.is_short()) return no_memory();
  uint32_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Node& node = node_at(method_, i);
    const Span<const int32_t> inputs = lazyrt::inputs_of(node);
    const Span<const int32_t> outputs = lazyrt::outputs_of(node);
    PlannedNode& planned = plan_.nodes_[i];
    planned.first_operand = next;
    planned.input_count = static_cast<uint32_t>(inputs.size());
    planned.output_count = static_cast<uint32_t>(outputs.size());
    for (const Span<const int32_t>& ids : {inputs, outputs}) {
      for (int32_t id : ids) plan_.operands_[next++] = id;
    }
  }
  return {};
}

/// A program that is bound to other sizes is released when its session has been made, so attributes
/// are copied. Otherwise they stay in place, in the caller's bytes.
Fault Planner::copy_attributes() {
  if (!kDynamicShapes) {
    for (uint32_t i = 0; i < plan_.nodes_.size(); ++i)
      plan_.nodes_[i].attrs = attrs_of(node_at(method_, i));
    return {};
  }
  size_t bytes = 0;
  for (uint32_t i = 0; i < plan_.nodes_.size(); ++i)
    bytes += attrs_copy_bytes(attrs_of(node_at(method_, i)));
  uint8_t* next = pool_->make<uint8_t>(bytes).data();
  if (pool_->is_short()) return no_memory();
  for (uint32_t i = 0; i < plan_.nodes_.size(); ++i)
    plan_.nodes_[i].attrs = copy_attrs(attrs_of(node_at(method_, i)), &next);
  return {};
}

NodeSpec Planner::fill_specs(const PlannedNode& node, TensorSpec* specs) const {
  const size_t count = node.input_count + node.output_count;
  for (size_t i = 0; i < count; ++i) {
    const int32_t id = plan_.operands_[node.first_operand + i];
    specs[i] = TensorSpec();
    if (id < 0) continue;
    const fb::Value& value = value_at(method_, id);
    specs[i] = spec_of(value);
    if (value.kind() == fb::ValueKind::Constant) specs[i].constant = program_.constant(value);
  }
  return {node.attrs, {specs, node.input_count}, {specs + node.input_count, node.output_count}};
}

Fault Planner::try_kernel(const Backend& backend, const NodeSpec& spec, PlannedNode* node) {
  Fault why(Error::kUnsupported, "backend %s has no kernel", backend.name);
  const Kernel* kernel = backend.select(*node->op, spec, &why);
  if (kernel == nullptr) return why;
  int slot = 0;
  LAZYRT_RETURN_IF_ERROR(services_->find_or_open(backend, &slot));
  const PrepareContext context = {spec, allocator_, services_->slot(slot).services};
  PreparedKernel prepared;
  LAZYRT_RETURN_IF_ERROR(
      prepare_kernel(*kernel, backend, context, memory_, services_->threads(), &prepared));
  node->kernel = kernel;
  node->services = context.backend;
  node->prepared = prepared;
  node->space = kHostSpace;
  return {};
}

Fault Planner::try_backend(const Backend& backend, const NodeSpec& spec, PlannedNode* node) {
  if (backend.device == nullptr) return try_kernel(backend, spec, node);
  if (!kDevices) return Fault(Error::kUnsupported, "backend %s is a device", backend.name);
  int slot = 0;
  LAZYRT_RETURN_IF_ERROR(services_->find_or_open(backend, &slot));
  node->services = services_->slot(slot).services;
  node->space = static_cast<uint8_t>(space_of_slot(slot));
  return backend.device->takes(node->services, *node->op, spec);
}

/// Asks `from` and its fallbacks. `refusal`: why no earlier backend runs the node; ok: there is
/// none.
Fault Planner::choose(size_t index, const Backend* from, Fault refusal) {
  PlannedNode& node = plan_.nodes_[index];
  const NodeSpec spec = fill_specs(node, specs_.data());
  FirstFault first;
  first.add(refusal);
  for (const Backend* b = from; b != nullptr; b = b->fallback) {
    const Fault status = try_backend(*b, spec, &node);
    if (status.ok()) {
      node.backend = b;
      LAZYRT_RETURN_IF_ERROR(services_->keep_reason(first, &node.fallback_reason));
      finish(index, spec);
      return {};
    }
    if (!is_refusal(status)) return place_of(index).of(index, status);
    first.add(status);
  }
  return place_of(index).of(index, first);
}

/// The kernel or device has its own copy of the weights: the mapped file's pages need not stay in
/// memory.
void Planner::drop_packed_pages(const NodeSpec& spec) const {
  if (program_.file.data == nullptr) return;
  for (const TensorSpec& input : spec.inputs) {
    if (input.constant != nullptr) platform_pages_unneeded(input.constant, input.bytes());
  }
}

void Planner::finish(size_t index, const NodeSpec& spec) {
  const PlannedNode& node = plan_.nodes_[index];
  if (node.prepared.packed_weight_bytes != 0) drop_packed_pages(spec);
  if (node.fallback_reason != nullptr && has_log_hook()) {
    log_line(LogLevel::kInfo, "%s: runs on %s: %s", place_of(index).text, node.backend->name,
             node.fallback_reason);
  }
  if (node.kernel != nullptr) add_needs(node);
}

void Planner::add_needs(const PlannedNode& node) {
  plan_.used_ |= 1U << node.space;
  uint64_t& workspace = plan_.workspace_bytes_[node.space];
  workspace = std::max<uint64_t>(workspace, node.prepared.workspace_bytes);
  plan_.packed_weight_bytes_ += node.prepared.packed_weight_bytes;
}

/// A guard's value is copied to the host before anything that follows it runs.
bool Planner::ends_segment(size_t node) const {
  if (!last_of_segments_.empty() && last_of_segments_[node]) return true;
  const Span<const int32_t> made = outputs_of(plan_.nodes()[node]);
  return std::any_of(made.begin(), made.end(), [this](int32_t id) { return is_guarded(id); });
}

size_t Planner::segment_length(size_t first) const {
  const auto nodes = plan_.nodes();
  size_t end = first + 1;
  while (end < nodes.size() && nodes[end].backend == nodes[first].backend &&
         !ends_segment(end - 1)) {
    ++end;
  }
  return end - first;
}

/// Guards, taps, states and outputs read values outside of segments.
Fault Planner::find_last_readers() {
  last_readers_ = scratch_.make<uint32_t>(count_of(method_.values()));
  if (scratch_.is_short()) return no_memory();
  for (uint32_t i = 0; i < plan_.nodes_.size(); ++i) {
    const PlannedNode& node = plan_.nodes_[i];
    for (int32_t id : inputs_of(node)) {
      if (id >= 0) last_readers_[static_cast<size_t>(id)] = i;
    }
    if (!ends_segment(i)) continue;
    for (int32_t id : outputs_of(node)) read_behind(id);
  }
  for (uint32_t k = 0; k < count_of(method_.states()); ++k)
    read_behind(state_at(method_, k).next());
  for (uint32_t i = 0; i < count_of(method_.outputs()); ++i)
    read_behind(output_at(method_, i).value());
  return {};
}

/// Empty, and short of memory: no_memory().
Span<const int32_t> Planner::list_leaving(size_t first, size_t count) {
  const auto nodes = plan_.nodes().subspan(first, count);
  size_t results = 0;
  for (const PlannedNode& node : nodes) results += node.output_count;
  const auto leaving = scratch_.make<int32_t>(results);
  size_t listed = 0;
  for (const PlannedNode& node : nodes) {
    for (int32_t id : outputs_of(node)) {
      if (leaving.empty() || last_readers_[static_cast<size_t>(id)] < first + count) continue;
      leaving[listed++] = id;
    }
  }
  return {leaving.data(), listed};
}

Fault Planner::compile(size_t first, size_t count, size_t* refused) {
  const PlannedNode& last = plan_.nodes_[first + count - 1];
  const uint32_t begin = plan_.nodes_[first].first_operand;
  const void* kept = scratch_.last();
  const auto specs = scratch_.make<TensorSpec>(last.operands_end() - begin);
  const auto nodes = scratch_.make<SegmentNode>(count);
  const Span<const int32_t> leaving = list_leaving(first, count);
  if (scratch_.is_short()) return no_memory();
  uint64_t share = 0;
  for (size_t i = 0; i < count; ++i) {
    const PlannedNode& node = plan_.nodes_[first + i];
    nodes[i] = {first + i, node.op, fill_specs(node, specs.data() + node.first_operand - begin),
                plan_.operands().subspan(node.first_operand, node.input_count + node.output_count)};
    share = std::min(share + share_of(nodes[i].spec), UINT64_MAX / 4);
  }
  const SegmentSpec spec = {nodes, leaving, allocator_, last.services};
  PreparedKernel prepared;
  const Fault status = within_share(
      memory_, share, [&] { return last.backend->device->compile(spec, &prepared, refused); });
  if (status.ok()) keep_segment(first, nodes, prepared);
  scratch_.forget_since(kept);
  return status;
}

void Planner::keep_segment(size_t first, Span<const SegmentNode> nodes,
                           const PreparedKernel& prepared) {
  PlannedNode& head = plan_.nodes_[first];
  head.prepared = prepared;
  head.segment_nodes = static_cast<uint32_t>(nodes.size());
  add_needs(head);
  for (const SegmentNode& node : nodes) {
    if (prepared.packed_weight_bytes != 0) drop_packed_pages(node.spec);
  }
}

/// Passes nodes that their device refuses to its fallbacks, which may be devices.
Fault Planner::move_on(size_t first, size_t count, Fault refusal) {
  FirstFault why;
  why.add(refusal);
  const Backend* next = plan_.nodes_[first].backend->fallback;
  for (size_t i = first; i < first + count; ++i) LAZYRT_RETURN_IF_ERROR(choose(i, next, why));
  return {};
}

/// The nodes before a refused one become one segment, those behind it another.
Fault Planner::compile_segments(const RunStop& stop) {
  for (size_t first = 0; first < plan_.nodes_.size();) {
    if (plan_.nodes_[first].space == kHostSpace) {
      ++first;
      continue;
    }
    if (stop.is_due()) return stop.status();
    if (last_readers_.empty()) LAZYRT_RETURN_IF_ERROR(find_last_readers());
    const size_t count = segment_length(first);
    size_t refused = count;
    const Fault status = compile(first, count, &refused);
    if (status.ok()) {
      first += count;
    } else if (!is_refusal(status)) {
      return place_of(first).of(first, status);
    } else if (refused < count) {
      LAZYRT_RETURN_IF_ERROR(move_on(first + refused, 1, status));
    } else {
      LAZYRT_RETURN_IF_ERROR(move_on(first, count, status));
    }
  }
  return {};
}

void Planner::begin_places(Span<const uint8_t> homes, Span<ValuePlaces> places) const {
  for (size_t id = 0; id < places.size(); ++id) {
    const fb::Value& value = value_at(method_, id);
    const fb::ValueKind kind = value.kind();
    places[id].spaces = kind == fb::ValueKind::Constant ? UINT8_MAX
                        : kind == fb::ValueKind::Arena  ? 0
                                                        : 1 << kHostSpace;
    const int32_t of = value.alias_of();
    // A view of an input lies in the input's memory, which may be the caller's.
    places[id].host_always =
        kind == fb::ValueKind::Input || (of >= 0 && places[static_cast<size_t>(of)].host_always);
  }
  for (uint32_t k = 0; k < homes.size(); ++k) {
    const int32_t value = state_at(method_, k).value();
    places[static_cast<size_t>(value)].spaces = static_cast<uint8_t>(1 << homes[k]);
  }
}

/// Adds the step for this node or segment; returns its node count.
uint32_t Planner::place_nodes(size_t first, Placement* placement) const {
  const PlannedNode& head = plan_.nodes()[first];
  const uint32_t count = std::max(head.segment_nodes, uint32_t{1});
  for (const PlannedNode& node : plan_.nodes().subspan(first, count)) {
    for (int32_t id : inputs_of(node)) placement->need(id, node.space);
    for (int32_t id : outputs_of(node)) placement->make(id, node.space);
  }
  placement->add(head.segment_nodes != 0 ? PlannedStep::Kind::kSegment : PlannedStep::Kind::kNode,
                 head.space, static_cast<uint32_t>(first), count);
  return count;
}

/// Places what guards read of a node's results. Later nodes may overwrite the memory, so values of
/// guards that are checked late are kept apart.
void Planner::place_guarded(const PlannedNode& node, bool late, Placement* placement) const {
  if (node.space == kHostSpace) return;
  for (int32_t id : outputs_of(node)) {
    if (!is_guarded(id)) continue;
    if (late) placement->keep(id, node.space);
    if (!late) placement->need(id, kHostSpace);
  }
  if (!late) placement->await();
}

void Planner::place(Span<const uint8_t> homes, bool late, Placement* placement) const {
  for (size_t i = 0; i < plan_.nodes_.size();) {
    i += place_nodes(i, placement);
    place_guarded(plan_.nodes_[i - 1], late, placement);
  }
  for (uint32_t i = 0; i < homes.size(); ++i)
    placement->need(state_at(method_, i).next(), homes[i]);
  placement->begin_outputs();
  for (uint32_t i = 0; i < count_of(method_.outputs()); ++i)
    placement->need(output_at(method_, i).value(), kHostSpace);
  if (plan_.keeps_states_) place_states(homes, placement);
}

/// States can be copied in steps only if nothing behind the copies can fail except on their device,
/// which then does not copy: no guard that is checked late, and no other device.
bool Planner::can_keep_states(Span<const uint8_t> homes, bool late) const {
  const auto is_away = [](uint8_t home) { return home != kHostSpace; };
  if (late || std::none_of(homes.begin(), homes.end(), is_away)) return false;
  uint32_t spaces = 0;
  for (const PlannedNode& node : plan_.nodes_) spaces |= 1U << node.space;
  spaces &= ~(1U << kHostSpace);
  const auto lives_there = [&](uint8_t home) { return (spaces >> home & 1) != 0; };
  return (spaces & (spaces - 1)) == 0 && std::any_of(homes.begin(), homes.end(), lives_there);
}

void Planner::place_states(Span<const uint8_t> homes, Placement* placement) const {
  for (uint32_t k = 0; k < homes.size(); ++k) {
    const fb::State& state = state_at(method_, k);
    if (homes[k] == kHostSpace || state.next() == state.value()) continue;
    if (value_at(method_, state.value()).bytes() != 0) placement->keep_state(k, homes[k]);
  }
}

Fault Planner::list_steps(Span<const uint8_t> homes, bool late) {
  LAZYRT_RETURN_IF_ERROR(find_guarded());
  const auto places = scratch_.make<ValuePlaces>(count_of(method_.values()));
  if (scratch_.is_short()) return no_memory();
  begin_places(homes, places);
  plan_.keeps_states_ = can_keep_states(homes, late);
  Placement counted(places, nullptr);
  place(homes, late, &counted);
  plan_.steps_ = pool_->make<PlannedStep>(counted.step_count());
  if (pool_->is_short()) return no_memory();
  begin_places(homes, places);
  Placement placed(places, plan_.steps_.data());
  place(homes, late, &placed);
  plan_.lines_ = placed.line_count();
  for (const PlannedStep& step : plan_.steps_) {
    plan_.device_steps_ += step.kind == PlannedStep::Kind::kNode ? 0 : 1;
    plan_.copies_states_ =
        plan_.copies_states_ ||
        (step.is_copy() && value_at(method_, step.index).kind() == fb::ValueKind::State);
  }
  return {};
}

Fault Planner::find_guarded() {
  const size_t guards = count_of(method_.guards());
  if (guards == 0 || !guarded_.empty()) return {};
  guarded_ = scratch_.make<bool>(count_of(method_.values()));
  if (scratch_.is_short()) return no_memory();
  for (uint32_t i = 0; i < guards; ++i)
    guarded_[static_cast<size_t>(guard_at(method_, i).value())] = true;
  return {};
}

Fault Planner::choose_all(const RunStop& stop) {
  plan_.allocator_ = allocator_;
  LAZYRT_RETURN_IF_ERROR(list_operands());
  LAZYRT_RETURN_IF_ERROR(copy_attributes());
  LAZYRT_RETURN_IF_ERROR(find_guarded());
  for (size_t i = 0; i < plan_.nodes_.size(); ++i) {
    if (stop.is_due()) return stop.status();
    plan_.nodes_[i].op = program_.ops->find(plan_.nodes_[i].attrs);
    LAZYRT_RETURN_IF_ERROR(choose(i, &backend_, Fault()));
  }
  return kDevices ? compile_segments(stop) : Fault();
}

}  // namespace lazyrt
