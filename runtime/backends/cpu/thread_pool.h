#pragma once

// The threads of one session: pthreadpool, which XNNPACK shares, or without XNNPACK a small pool of
// our own. One run at a time; the calling thread works, too, as thread 0.

#include <cstddef>

#include "runtime/core/allocator.h"

#if LAZYRT_HAS_XNNPACK

#include <pthreadpool.h>

namespace lazyrt {

using ThreadPool = pthreadpool;

inline ThreadPool* pool_create(size_t threads, const Allocator&) {
  return pthreadpool_create(threads);
}
inline void pool_destroy(ThreadPool* pool) { pthreadpool_destroy(pool); }
inline size_t pool_threads(ThreadPool* pool) { return pthreadpool_get_threads_count(pool); }
inline void pool_run_tiles(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context,
                           size_t n, size_t tile) {
  pthreadpool_parallelize_1d_tile_1d(pool, body, context, n, tile, 0);
}
inline void pool_run_items(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context,
                           size_t n) {
  pthreadpool_parallelize_1d_with_thread(pool, body, context, n, 0);
}

}  // namespace lazyrt

#else

namespace lazyrt {

class ThreadPool;

/// `threads` includes the caller's. nullptr: no memory, or no such number of threads.
ThreadPool* pool_create(size_t threads, const Allocator& allocator);
/// Ends and joins its threads.
void pool_destroy(ThreadPool* pool);
size_t pool_threads(ThreadPool* pool);
/// Calls body(context, begin, count) for pieces of at most `tile` items that cover [0, n).
void pool_run_tiles(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context, size_t n,
                    size_t tile);
/// Calls body(context, thread, i) for each i in [0, n).
void pool_run_items(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context, size_t n);

}  // namespace lazyrt

#endif
