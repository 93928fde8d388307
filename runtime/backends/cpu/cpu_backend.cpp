#include "runtime/backends/cpu/cpu_backend.h"

#include <new>

#include "runtime/backend/backend.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_op.h"
#endif

namespace lazyrt {
namespace {

const Kernel* select(const OpEntry& op, const NodeSpec& node, Fault* why) {
  return find_kernel(op, KernelSlot::kCpu, node, why);
}

Fault open_weights(const WeightOptions& options, void** weights) {
  *weights = WeightStore::create(options.allocator, options.constant_bytes);
  if (*weights == nullptr) return Fault(Error::kOutOfMemory, "no memory for the weight store");
  return {};
}

void close_weights(void* weights) { WeightStore::destroy(static_cast<WeightStore*>(weights)); }

void close(void* services, const Allocator& allocator) {
  auto* cpu = static_cast<CpuServices*>(services);
  if (cpu == nullptr) return;
  if (cpu->pool != nullptr) pool_destroy(cpu->pool);
  if (cpu->owns_weights) WeightStore::destroy(cpu->weights);
  allocator.release(allocator.context, cpu);
}

Fault fill(const BackendOptions& options, CpuServices* cpu) {
  cpu->vector = &vector_ops();
  cpu->memory = options.memory;
  cpu->weights = static_cast<WeightStore*>(options.weights);
  if (cpu->weights == nullptr) {
    // It goes with the session, which may count it itself.
    cpu->weights = WeightStore::create(options.allocator, UINT64_MAX);
    cpu->owns_weights = true;
    cpu->memory = nullptr;
    if (cpu->weights == nullptr) return no_memory("cpu backend");
  }
  if (cpu->memory != nullptr && !cpu->memory->take(cpu->weights->held_bytes())) {
    return Fault(Error::kOutOfMemory, "the packed weights of the program");
  }
  cpu->threads = options.threads;
  if (options.threads > 1) {
    cpu->pool = pool_create(static_cast<size_t>(options.threads), options.allocator);
    if (cpu->pool == nullptr) {
      return Fault(Error::kOutOfMemory, "cannot make a pool of %d threads", options.threads);
    }
  }
  return {};
}

Fault open(const BackendOptions& options, void** services) {
#if LAZYRT_HAS_XNNPACK
  LAZYRT_RETURN_IF_ERROR(initialize_xnn());
#endif
  auto* cpu = make_state<CpuServices>(options.allocator);
  if (cpu == nullptr) return no_memory("cpu backend");
  const Fault status = fill(options, cpu);
  if (!status.ok()) {
    close(cpu, options.allocator);
    return status;
  }
  *services = cpu;
  return {};
}

}  // namespace

Fault prepared_or_released(Fault status, const Allocator& allocator, PreparedKernel* prepared,
                           void (*release)(void*, const Allocator&)) {
  if (status.ok()) return status;
  release(prepared->state, allocator);
  prepared->state = nullptr;
  return status;
}

const Backend* cpu_backend() {
  static const Backend backend = {"cpu",
                                  select,
                                  open,
                                  close,
                                  open_weights,
                                  close_weights,
                                  WeightStore::most_bytes,
                                  reference_backend()};
  return &backend;
}

}  // namespace lazyrt
