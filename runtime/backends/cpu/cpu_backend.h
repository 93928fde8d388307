#pragma once

// What kernels of the cpu backend get as PrepareContext::backend and RunContext::backend: threads,
// packed weights, vector routines. Public entry: cpu_backend() in lazyrt/runtime.h.

#include <cstddef>
#include <new>
#include <type_traits>

#include "lazyrt/runtime.h"
#include "runtime/backends/cpu/thread_pool.h"
#include "runtime/backends/cpu/vector_ops.h"
#include "runtime/backends/cpu/weight_store.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Services of one session. `pool` is null for one thread.
struct CpuServices {
  ThreadPool* pool = nullptr;
  int threads = 1;
  WeightStore* weights = nullptr;
  CountedMemory* memory = nullptr;  ///< the session's; may be null
  bool owns_weights = false;        ///< no Program gave a store
  const VectorOps* vector = nullptr;
};

inline CpuServices& cpu_services(const PrepareContext& context) {
  return *static_cast<CpuServices*>(context.backend);
}
inline CpuServices& cpu_services(const RunContext& context) {
  return *static_cast<CpuServices*>(context.backend);
}

/// Calls body(begin, end) for pieces that cover [0, n), on the session's threads. A piece has at
/// least `grain` items (but the last): choose it so that a piece takes some ten microseconds. Never
/// allocates.
template <class Body>
void parallel_for(const CpuServices& services, size_t n, size_t grain, const Body& body) {
  if (n == 0) return;
  if (grain == 0) grain = 1;
  if (services.pool == nullptr || n <= grain) return body(size_t{0}, n);
  // At most four pieces a thread: enough to balance, few enough to be cheap.
  const size_t pieces = static_cast<size_t>(services.threads) * 4;
  const size_t even = (n + pieces - 1) / pieces;
  const size_t tile = even > grain ? even : grain;
  pool_run_tiles(
      services.pool,
      [](void* b, size_t begin, size_t count) {
        (*static_cast<const Body*>(b))(begin, begin + count);
      },
      const_cast<void*>(static_cast<const void*>(&body)), n, tile);
}

/// Calls body(thread, i) for each i in [0, n), on the session's threads, each numbered below
/// services.threads. Never allocates.
template <class Body>
void parallel_items(const CpuServices& services, size_t n, const Body& body) {
  if (services.pool == nullptr || n <= 1) {
    for (size_t i = 0; i < n; ++i) body(size_t{0}, i);
    return;
  }
  pool_run_items(
      services.pool,
      [](void* b, size_t thread, size_t i) { (*static_cast<const Body*>(b))(thread, i); },
      const_cast<void*>(static_cast<const void*>(&body)), n);
}

/// Work items of `cost` basic operations each that make a piece worth a thread.
constexpr size_t grain_of(size_t cost) {
  constexpr size_t kOperationsPerPiece = 16384;
  return cost >= kOperationsPerPiece ? 1 : kOperationsPerPiece / (cost == 0 ? 1 : cost);
}

/// Makes a T in the session's memory, to be returned as PreparedKernel::state; nullptr: no memory.
template <class T>
T* make_state(const Allocator& allocator) {
  static_assert(std::is_trivially_destructible_v<T>, "released without a destructor");
  void* memory =
      allocator.allocate(allocator.context, sizeof(T), alignof(T) < 16 ? 16 : alignof(T));
  return memory == nullptr ? nullptr : new (memory) T();
}

inline void release_state(void* state, const Allocator& allocator) {
  if (state != nullptr) allocator.release(allocator.context, state);
}

/// To be returned by prepare: on failure, frees the state made so far.
Fault prepared_or_released(Fault status, const Allocator& allocator, PreparedKernel* prepared,
                           void (*release)(void*, const Allocator&) = release_state);

/// For the rule of one of several ways (Kernel::ways): the text is shown if none takes the node.
inline Fault takes(bool condition, Word what) {
  return condition ? Fault() : Fault(Error::kUnsupported, "not for %s", what);
}

inline Fault no_memory(Word what) {
  return Fault(Error::kOutOfMemory, "%s: no memory for the kernel's state", what);
}

}  // namespace lazyrt
