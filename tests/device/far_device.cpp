#include "tests/device/far_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/core/run_stop.h"
#include "tests/device/far_memory.h"
#include "tests/device/far_queue.h"

namespace lazyrt::test {
namespace {

/// What all sessions of a Program share: its constants in the machine's memory.
class FarProgram {
 public:
  explicit FarProgram(FarMachine* its) : machine(*its) {}
  ~FarProgram() {
    for (const auto& [key, address] : kept_) give(address);
  }
  FarProgram(const FarProgram&) = delete;
  FarProgram& operator=(const FarProgram&) = delete;

  void* take(uint64_t bytes, void** host = nullptr) {
    if (machine.rules.allocates && !machine.rules.allocates(bytes)) return nullptr;
    void* address = machine.memory->allocate(bytes, host);
    ++machine.counts.allocations;
    machine.counts.blocks += address == nullptr ? 0 : 1;
    return address;
  }
  void give(void* address) {
    machine.memory->release(address);
    --machine.counts.blocks;
  }
  /// Its address there; nullptr: no memory. *added: its bytes, if they are new.
  void* keep(const void* constant, size_t bytes, size_t* added) {
    const std::lock_guard lock(mutex_);
    void*& address = kept_[{constant, bytes}];
    if (address != nullptr) return address;
    address = take(bytes + kTailBytes);
    if (address == nullptr) return kept_.erase({constant, bytes}), nullptr;
    const Opening opening(machine.memory.get());
    if (bytes != 0) std::memcpy(opening.memory.at(address, bytes), constant, bytes);
    ++machine.counts.constants;
    *added += bytes;
    return address;
  }

  FarMachine& machine;

 private:
  std::mutex mutex_;
  std::map<std::pair<const void*, size_t>, void*> kept_;
};

/// What a session has.
struct FarServices {
  FarProgram& program;
  FarMachine& machine;
  const RunStop* stop = nullptr;
  FarStream stream = {};

  void push(std::function<void(FarError*)> job, bool is_copy_within = false) {
    stream.queued.push_back({std::move(job), machine.rules.goes_on && !is_copy_within});
    stream.was_used = true;
  }
  void submit() {
    if (stream.queued.empty()) return;
    ++machine.counts.submissions;
    machine.queue->submit(&stream);
  }
};

FarServices& services_of(void* services) { return *static_cast<FarServices*>(services); }

struct FarNode {
  size_t index = 0;
  const OpEntry* op = nullptr;
  OpAttrs attrs;
  PreparedKernel prepared;
  size_t inputs = 0, outputs = 0;
  std::vector<void*> constants;  ///< per input; nullptr: it is none
  std::vector<bool> leaves;      ///< per output
  std::vector<TensorView> operands;
};

using Bytes = std::pair<uint8_t*, size_t>;

bool overlap(const Bytes& a, const Bytes& b) {
  return a.first < b.first + b.second && b.first < a.first + a.second;
}

struct FarSegment {
  FarServices& services;
  std::vector<FarNode> nodes;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  bool is_bound = false;
  std::vector<Bytes> spoilt;  ///< results that nothing else reads
  mutable std::vector<uint64_t> times;

  void run(FarError* error) const {
    FarMachine& machine = services.machine;
    if (machine.rules.before_segment) machine.rules.before_segment();
    const Opening opening(machine.memory.get());
    ++machine.counts.segments;
    times.clear();
    run_nodes(error);
    for (const auto& [data, bytes] : spoilt) std::memset(data, 0x5A, bytes);
  }

  void run_nodes(FarError* error) const {
    FarMachine& machine = services.machine;
    for (const FarNode& node : nodes) {
      times.push_back(machine.rules.takes_time ? machine.rules.takes_time(*node.op) : 0);
      if (error->status.ok() && services.stop->is_due()) {
        error->add(services.stop->status(), 0);
        return;
      }
      ++machine.counts.nodes;
      const Span<const TensorView> operands(node.operands.data(), node.operands.size());
      const RunContext context = {node.attrs, operands.subspan(0, node.inputs),
                                  operands.subspan(node.inputs, node.outputs), workspace};
      const Status status = node.op->def->reference.run(node.prepared.state, context)
                                .with_context("node %zu (%s)", node.index, node.op->name);
      if (!status.ok()) error->add(status, node.index);
      if (!status.ok() && !machine.rules.goes_on) return;
    }
  }
};

Fault allocate(void* state, uint64_t bytes, SpaceBlock* block) {
  auto& program = *static_cast<FarProgram*>(state);
  block->address = program.take(bytes, program.machine.rules.is_mapped ? &block->host : nullptr);
  return block->address == nullptr ? Status(Error::kOutOfMemory, "far has no memory") : Status();
}

void release_memory(void* program, void* address) {
  static_cast<FarProgram*>(program)->give(address);
}

Fault takes(void* services, const OpEntry& op, const NodeSpec& node) {
  const FarRules& rules = services_of(services).machine.rules;
  const Kernel& kernel = op.def->reference;
  if (kernel.supports != nullptr) LAZYRT_RETURN_IF_ERROR(kernel.supports(node));
  if (!rules.takes || rules.takes(op, node)) return {};
  return Fault(Error::kUnsupported, "far does not take %s", op.name);
}

void release_segment(void* state, const Allocator& allocator) {
  auto* segment = static_cast<FarSegment*>(state);
  for (const FarNode& node : segment->nodes) {
    if (node.op->def->reference.release != nullptr)
      node.op->def->reference.release(node.prepared.state, allocator);
  }
  delete segment;
}

Fault keep_constants(const NodeSpec& spec, FarProgram* program, FarNode* node,
                     PreparedKernel* prepared) {
  for (const TensorSpec& input : spec.inputs) {
    void* address = nullptr;
    if (input.constant != nullptr) {
      address = program->keep(input.constant, input.bytes(), &prepared->packed_weight_bytes);
      if (address == nullptr) return Fault(Error::kOutOfMemory, "far has no memory for a constant");
    }
    node->constants.push_back(address);
  }
  return {};
}

Status fill(const SegmentSpec& spec, FarSegment* segment, PreparedKernel* prepared) {
  for (const SegmentNode& node : spec.nodes) {
    FarNode made = {node.index, node.op, node.spec.attrs};
    made.inputs = node.spec.inputs.size();
    made.outputs = node.spec.outputs.size();
    EXPECT_EQ(node.values.size(), made.inputs + made.outputs);
    for (size_t i = made.inputs; i < node.values.size(); ++i) {
      made.leaves.push_back(std::find(spec.leaving.begin(), spec.leaving.end(), node.values[i]) !=
                            spec.leaving.end());
    }
    const Kernel& kernel = node.op->def->reference;
    LAZYRT_RETURN_IF_ERROR(keep_constants(node.spec, &segment->services.program, &made, prepared));
    if (kernel.prepare != nullptr)
      LAZYRT_RETURN_IF_ERROR(kernel.prepare({node.spec, spec.allocator, nullptr}, &made.prepared));
    prepared->workspace_bytes = std::max(prepared->workspace_bytes, made.prepared.workspace_bytes);
    segment->nodes.push_back(std::move(made));
  }
  segment->workspace_bytes = prepared->workspace_bytes;
  return {};
}

Fault compile(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused) {
  FarServices& services = services_of(spec.services);
  const FarRules& rules = services.machine.rules;
  ++services.machine.counts.compilations;
  for (size_t i = 0; rules.refuses && i < spec.nodes.size(); ++i) {
    if (!rules.refuses(spec.nodes[i])) continue;
    *refused = i;
    return Fault(Error::kUnsupported, "far refuses %s", spec.nodes[i].op->name);
  }
  if (rules.compiles && !rules.compiles(spec))
    return Fault(Error::kUnsupported, "far cannot compile this");
  if (rules.compiled) rules.compiled(spec);
  auto* segment = new FarSegment{services};
  const Status status = fill(spec, segment, prepared);
  if (!status.ok()) return release_segment(segment, spec.allocator), status;
  prepared->state = segment;
  return {};
}

/// What need not be kept, and is in no memory that is.
void find_spoilt(FarSegment* segment) {
  std::vector<Bytes> kept, made;
  for (const FarNode& node : segment->nodes) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const TensorView& view = node.operands[i];
      const Bytes bytes = {static_cast<uint8_t*>(view.data), view.bytes()};
      const bool is_kept = i < node.inputs
                               ? std::find(made.begin(), made.end(), bytes) == made.end()
                               : node.leaves[i - node.inputs];
      if (bytes.second != 0) (is_kept ? kept : made).push_back(bytes);
    }
  }
  segment->spoilt.clear();
  for (const Bytes& bytes : made) {
    if (std::none_of(kept.begin(), kept.end(), [&](const Bytes& k) { return overlap(k, bytes); }))
      segment->spoilt.push_back(bytes);
  }
}

Fault bind(void* state, Span<const TensorView> operands, void* workspace) {
  auto& segment = *static_cast<FarSegment*>(state);
  FarMemory& memory = *segment.services.machine.memory;
  const auto& binds = segment.services.machine.rules.binds;
  segment.is_bound = !binds || binds();
  if (!segment.is_bound) return Fault(Error::kOutOfMemory, "far cannot bind this");
  if (segment.workspace_bytes != 0) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(workspace) % FarMemory::kAlignment, 0u);
    segment.workspace = memory.at(workspace, segment.workspace_bytes);
  }
  size_t next = 0;
  for (FarNode& node : segment.nodes) {
    const Span<const TensorView> mine = operands.subspan(next, node.inputs + node.outputs);
    next += mine.size();
    node.operands.assign(mine.begin(), mine.end());
    for (size_t i = 0; i < mine.size(); ++i) {
      void*& data = node.operands[i].data;
      if (i < node.inputs && node.constants[i] != nullptr) {
        EXPECT_EQ(data, nullptr) << "a constant has no place but the store";
        data = node.constants[i];
      }
      if (mine[i].present()) data = memory.at(data, mine[i].bytes() + kTailBytes);
    }
  }
  find_spoilt(&segment);
  return {};
}

Fault submit(void* state) {
  const auto* segment = static_cast<const FarSegment*>(state);
  EXPECT_TRUE(segment->is_bound);
  segment->services.push([segment](FarError* error) { segment->run(error); });
  return {};
}

Fault copy_in(void* state, void* to, const void* from, size_t bytes) {
  FarServices& services = services_of(state);
  ++services.machine.counts.copies_in;
  std::vector<uint8_t> staged(bytes);
  if (from != nullptr) std::memcpy(staged.data(), from, bytes);
  services.push([&services, to, staged](FarError*) {
    const Opening opening(services.machine.memory.get());
    std::memcpy(opening.memory.at(to, staged.size()), staged.data(), staged.size());
  });
  return {};
}

Fault copy_out(void* state, void* to, const void* from, size_t bytes) {
  FarServices& services = services_of(state);
  ++services.machine.counts.copies_out;
  services.push([&services, to, from, bytes](FarError*) {
    const Opening opening(services.machine.memory.get());
    std::memcpy(to, opening.memory.at(from, bytes), bytes);
  });
  return {};
}

Fault copy(void* state, void* to, const void* from, size_t bytes) {
  FarServices& services = services_of(state);
  ++services.machine.counts.copies;
  services.push(
      [&services, to, from, bytes](FarError*) {
        const Opening opening(services.machine.memory.get());
        std::memcpy(opening.memory.at(to, bytes), opening.memory.at(from, bytes), bytes);
      },
      /*is_copy_within=*/true);
  return {};
}

Fault flush(void* state) {
  services_of(state).submit();
  return {};
}

Fault wait(void* state, size_t* node) {
  FarServices& services = services_of(state);
  services.submit();
  services.machine.counts.waits += services.stream.was_used ? 1 : 0;
  services.stream.was_used = false;
  const FarError error = services.machine.queue->drain(&services.stream);
  if (!error.status.ok()) *node = error.node;
  return error.status;
}

Fault times(void* state, Span<uint64_t> nanoseconds) {
  const auto& segment = *static_cast<const FarSegment*>(state);
  EXPECT_EQ(segment.times.size(), nanoseconds.size());
  std::copy(segment.times.begin(), segment.times.end(), nanoseconds.begin());
  return {};
}

Device far_device(bool has_clock) {
  Device device;
  device.space = "far memory";
  device.alignment = FarMemory::kAlignment;
  device.allocate = allocate;
  device.release_memory = release_memory;
  device.takes = takes;
  device.compile = compile;
  device.bind = bind;
  device.release = release_segment;
  device.submit = submit;
  device.copy_in = copy_in;
  device.copy_out = copy_out;
  device.copy = copy;
  device.flush = flush;
  device.wait = wait;
  device.times = has_clock ? times : nullptr;
  return device;
}

FarMachine* machine_of(const Backend* backend) {
  return static_cast<const FarBackend*>(backend)->machine;
}

Fault open_weights(const WeightOptions& options, void** weights) {
  *weights = new FarProgram(machine_of(options.backend));
  return {};
}

Fault open(const BackendOptions& options, void** services) {
  FarMachine& machine = *machine_of(options.backend);
  ++machine.counts.opened;
  if (machine.rules.opens && !machine.rules.opens())
    return Fault(Error::kUnsupported, "there is no such device");
  auto* program = static_cast<FarProgram*>(options.weights);
  *services = new FarServices{*program, machine, options.stop};
  return {};
}

}  // namespace

FarMachine::FarMachine()
    : memory(std::make_unique<FarMemory>()), queue(std::make_unique<FarQueue>()) {}
FarMachine::~FarMachine() = default;

FarMachine& far_machine() {
  static FarMachine machine;
  return machine;
}

bool far_memory_is_open() { return far_machine().memory->can_be_read(); }

FarBlock::FarBlock(size_t bytes) : address_(far_machine().memory->allocate(bytes)) {}
FarBlock::~FarBlock() { far_machine().memory->release(address_); }

std::vector<uint8_t> FarBlock::read(size_t bytes) const {
  const Opening opening(far_machine().memory.get());
  const uint8_t* data = opening.memory.at(address_, bytes);
  return {data, data + bytes};
}

FarBackend far_backend(const Backend* fallback, FarMachine* machine) {
  static const Device devices[] = {far_device(false), far_device(true)};
  FarBackend backend;
  backend.name = "far";
  backend.open = open;
  backend.close = [](void* services, const Allocator&) { delete &services_of(services); };
  backend.open_weights = open_weights;
  backend.close_weights = [](void* weights) { delete static_cast<FarProgram*>(weights); };
  backend.fallback = fallback;
  backend.device = &devices[machine->rules.takes_time ? 1 : 0];
  backend.machine = machine;
  return backend;
}

}  // namespace lazyrt::test
