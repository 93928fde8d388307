#include "lazyrt/vulkan.h"

#include "runtime/backend/backend.h"
#include "runtime/backends/vulkan/object.h"
#include "runtime/backends/vulkan/segment.h"

namespace lazyrt {

class VulkanBackendState : public Backend {
 public:
  VulkanBackendState() : pipelines(gpu, &cache, platform_allocator()) {}

  mutable VulkanDevice gpu;
  mutable VulkanCache cache;
  mutable VulkanPipelines pipelines;
};

namespace {

Fault no_memory() { return Fault(Error::kOutOfMemory, "no memory for the vulkan backend"); }

VulkanProgram& program_of(void* program) { return *static_cast<VulkanProgram*>(program); }
VulkanSession& session_of(void* services) { return *static_cast<VulkanSession*>(services); }
VulkanSegment* segment_of(void* segment) { return static_cast<VulkanSegment*>(segment); }

Fault open_weights(const WeightOptions& options, void** weights) {
  const auto& state = *static_cast<const VulkanBackendState*>(options.backend);
  *weights = make_object<VulkanProgram>(options.allocator, &state.gpu, &state.pipelines,
                                        options.constant_bytes, options.allocator);
  return *weights == nullptr ? no_memory() : Fault();
}

void close_weights(void* weights) {
  auto* program = static_cast<VulkanProgram*>(weights);
  const Allocator allocator = program->allocator();
  destroy_object(program, allocator);
}

Fault open(const BackendOptions& options, void** services) {
  if (options.weights == nullptr)
    return Fault(Error::kInvalidArgument, "the vulkan backend needs a Program");
  const auto& state = *static_cast<const VulkanBackendState*>(options.backend);
  auto* session = make_object<VulkanSession>(options.allocator, &program_of(options.weights),
                                             options.profile && state.gpu.has_clock(), options.stop,
                                             options.allocator);
  if (session == nullptr) return no_memory();
  const Fault fault = session->make();
  if (!fault.ok()) return destroy_object(session, options.allocator), fault;
  *services = session;
  return {};
}

void close(void* services, const Allocator& allocator) {
  destroy_object(static_cast<VulkanSession*>(services), allocator);
}

Fault allocate(void* program, uint64_t bytes, SpaceBlock* block) {
  VulkanMemory& memory = program_of(program).memory();
  LAZYRT_RETURN_IF_ERROR(memory.allocate(bytes, &block->address));
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(memory.find(block->address, bytes, &place));
  block->host = place.mapped;
  return {};
}
void release_memory(void* program, void* address) { program_of(program).memory().release(address); }
Fault check_operand(const TensorSpec& spec, const VulkanLimits& limits) {
  if (spec.numel() > INT32_MAX - 255)
    return Fault(Error::kUnsupported, "an operand of more than 2^31 elements");
  // An operand may begin within an offset's granule; its binding then includes the whole granule.
  const uint64_t most = limits.storage_range - limits.offset_alignment;
  if (spec.bytes() <= most) return {};
  return Fault(Error::kUnsupported, "an operand of %zu bytes; the device binds at most %llu",
               spec.bytes(), static_cast<unsigned long long>(most));
}

Fault takes(void* services, const OpEntry& op, const NodeSpec& node) {
  Fault why;
  if (find_kernel(op, KernelSlot::kVulkan, node, &why) == nullptr) return why;
  LAZYRT_RETURN_IF_ERROR(session_of(services).device().refusals().check(op.name));
  const VulkanLimits& limits = session_of(services).device().limits();
  for (const TensorSpec& spec : node.inputs) LAZYRT_RETURN_IF_ERROR(check_operand(spec, limits));
  for (const TensorSpec& spec : node.outputs) LAZYRT_RETURN_IF_ERROR(check_operand(spec, limits));
  return {};
}

Fault compile(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused) {
  auto* segment =
      make_object<VulkanSegment>(spec.allocator, &session_of(spec.services), spec.allocator);
  if (segment == nullptr) return no_memory();
  const Fault fault = segment->compile(spec, prepared, refused);
  if (!fault.ok()) return destroy_object(segment, spec.allocator), fault;
  prepared->state = segment;
  return {};
}

Fault bind(void* segment, Span<const TensorView> operands, void* workspace) {
  return segment_of(segment)->bind(operands, workspace);
}
void release(void* segment, const Allocator& allocator) {
  destroy_object(segment_of(segment), allocator);
}

Fault submit(void* segment) { return segment_of(segment)->submit(); }
Fault copy_in(void* services, void* to, const void* from, size_t bytes) {
  return session_of(services).copy_in(to, from, bytes);
}
Fault copy_out(void* services, void* to, const void* from, size_t bytes) {
  return session_of(services).copy_out(to, from, bytes);
}
Fault copy(void* services, void* to, const void* from, size_t bytes) {
  return session_of(services).copy(to, from, bytes);
}
Fault flush(void* services) { return session_of(services).flush(); }
Fault wait(void* services, size_t* node) { return session_of(services).wait(node); }
Fault times(void* segment, Span<uint64_t> nanoseconds) {
  return segment_of(segment)->times(nanoseconds);
}

/// Operands begin in their buffers where every device can bind them.
constexpr size_t kMemoryAlignment = 256;

constexpr Device device_of(bool has_clock) {
  Device device;
  device.space = "vulkan";
  device.alignment = kMemoryAlignment;
  device.allocate = allocate;
  device.release_memory = release_memory;
  device.takes = takes;
  device.compile = compile;
  device.bind = bind;
  device.release = release;
  device.submit = submit;
  device.copy_in = copy_in;
  device.copy_out = copy_out;
  device.copy = copy;
  device.flush = flush;
  device.wait = wait;
  device.times = has_clock ? times : nullptr;
  return device;
}
constexpr Device kDevices[] = {device_of(false), device_of(true)};

Fault make_state(const VulkanOptions& options, VulkanBackendState* state) {
  LAZYRT_RETURN_IF_ERROR(state->gpu.open(options));
  LAZYRT_RETURN_IF_ERROR(state->cache.open(options.cache_folder, state->gpu.physical()));
  LAZYRT_RETURN_IF_ERROR(state->pipelines.open());
  state->name = "vulkan";
  state->open = open;
  state->close = close;
  state->open_weights = open_weights;
  state->close_weights = close_weights;
  state->most_weight_bytes = VulkanStore::most_bytes;
  state->fallback = options.fallback;
  state->device = &kDevices[state->gpu.has_clock() ? 1 : 0];
  return {};
}

}  // namespace

Result<VulkanBackend> VulkanBackend::create(const VulkanOptions& options) {
  const Allocator allocator = platform_allocator();
  VulkanBackend out;
  out.state_ = make_object<VulkanBackendState>(allocator);
  if (out.state_ == nullptr) return Status(no_memory());
  const Fault fault = make_state(options, out.state_);
  if (!fault.ok()) return Status(fault);
  return out;
}

VulkanBackend::~VulkanBackend() {
  if (state_ != nullptr && state_->pipelines.count() != 0) (void)save_pipelines();
  destroy_object(state_, platform_allocator());
}

const Backend* VulkanBackend::backend() const { return state_; }
const char* VulkanBackend::device_name() const {
  return state_->gpu.physical().properties.deviceName;
}
VulkanStatistics VulkanBackend::statistics() const {
  VulkanStatistics all = state_->gpu.statistics();
  all.pipelines = state_->pipelines.count();
  return all;
}
Status VulkanBackend::save_pipelines() { return state_->pipelines.save(); }
Status VulkanBackend::cache_status() const { return state_->cache.status(); }
Status VulkanBackend::refuse(const char* op) { return state_->gpu.refusals().add(op); }
size_t VulkanBackend::refused_count() const { return state_->gpu.refusals().count(); }
const char* VulkanBackend::refused(size_t i) const { return state_->gpu.refusals().name(i); }

bool VulkanBackend::recall_verdict(uint64_t bundle) {
  VulkanCacheFile file;
  state_->cache.read(VulkanCache::Kind::kVerdict, bundle, &file);
  if (!file.exists()) return false;
  const Fault fault = state_->gpu.refusals().read(file.content());
  if (!fault.ok()) state_->cache.report(fault.with_context("the verdict of a self-test"));
  return fault.ok();
}

Status VulkanBackend::keep_verdict(uint64_t bundle) {
  uint8_t bytes[VulkanRefusals::kMostBytes];
  const size_t size = state_->gpu.refusals().write(bytes);
  return state_->cache.write(VulkanCache::Kind::kVerdict, bundle, {bytes, size},
                             platform_allocator());
}

}  // namespace lazyrt
