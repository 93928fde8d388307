#include "runtime/backends/cpu/cpu_backend.h"

#include <new>

#include "runtime/backend/backend.h"
#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {
namespace {

const Kernel* select(const OpEntry& op, const NodeSpec& node, Status* why) {
  return find_kernel(op, KernelSlot::kCpu, node, why);
}

Status open_weights(const WeightOptions& options, void** weights) {
  *weights = WeightStore::create(options.allocator, options.constant_bytes);
  if (*weights == nullptr) return Status(Error::kOutOfMemory, "no memory for the weight store");
  return {};
}

void close_weights(void* weights) { WeightStore::destroy(static_cast<WeightStore*>(weights)); }

void close(void* services, const Allocator& allocator) {
  auto* cpu = static_cast<CpuServices*>(services);
  if (cpu == nullptr) return;
  if (cpu->pool != nullptr) pthreadpool_destroy(cpu->pool);
  if (cpu->owns_weights) WeightStore::destroy(cpu->weights);
  allocator.release(allocator.context, cpu);
}

Status fill(const BackendOptions& options, CpuServices* cpu) {
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
    return Status(Error::kOutOfMemory, "the packed weights of the program");
  }
  cpu->threads = options.threads;
  if (options.threads > 1) {
    cpu->pool = pthreadpool_create(static_cast<size_t>(options.threads));
    if (cpu->pool == nullptr) {
      return Status(Error::kOutOfMemory, "cannot make a pool of %d threads", options.threads);
    }
  }
  return {};
}

Status open(const BackendOptions& options, void** services) {
  LAZYRT_RETURN_IF_ERROR(initialize_xnn());
  auto* cpu = make_state<CpuServices>(options.allocator);
  if (cpu == nullptr) return no_memory("cpu backend");
  const Status status = fill(options, cpu);
  if (!status.ok()) {
    close(cpu, options.allocator);
    return status;
  }
  *services = cpu;
  return {};
}

}  // namespace

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
