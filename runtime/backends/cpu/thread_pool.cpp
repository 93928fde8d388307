#include "runtime/backends/cpu/thread_pool.h"

#if !LAZYRT_HAS_XNNPACK

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>

#include "runtime/platform/thread.h"

namespace lazyrt {

/// One allocation holds this and, behind it, its workers.
class ThreadPool {
 public:
  using Body = void (*)(void*, size_t, size_t);

  struct Worker {
    ThreadPool* pool = nullptr;
    size_t number = 0;
    PlatformThread thread;
  };

  explicit ThreadPool(const Allocator& allocator) : allocator_(allocator) {}

  /// False: fewer than wanted could be started.
  bool start(size_t workers) {
    for (; workers_ < workers; ++workers_) {
      Worker* worker = new (worker_at(workers_)) Worker{this, workers_ + 1, {}};
      if (!platform_thread_start(work_on, worker, &worker->thread)) return false;
    }
    return true;
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    begin_.notify_all();
    for (size_t i = 0; i < workers_; ++i) platform_thread_join(worker_at(i)->thread);
  }

  void run(Body body, void* context, size_t n) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      body_ = body, context_ = context, n_ = n;
      next_.store(0, std::memory_order_relaxed);
      busy_ = workers_;
      ++round_;
    }
    begin_.notify_all();
    take_items(0);
    std::unique_lock<std::mutex> lock(mutex_);
    while (busy_ > 0) end_.wait(lock);
  }

  size_t threads() const { return workers_ + 1; }
  const Allocator& allocator() const { return allocator_; }

 private:
  Worker* worker_at(size_t i) { return reinterpret_cast<Worker*>(this + 1) + i; }

  static void work_on(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    worker->pool->work(worker->number);
  }

  void work(size_t thread) {
    uint64_t done = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      while (!stopped_ && round_ == done) begin_.wait(lock);
      if (stopped_) return;
      done = round_;
      lock.unlock();
      take_items(thread);
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  void take_items(size_t thread) {
    for (;;) {
      const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= n_) return;
      body_(context_, thread, i);
    }
  }

  const Allocator allocator_;
  size_t workers_ = 0;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  uint64_t round_ = 0;  // number of the current run; each worker takes part in each run
  size_t busy_ = 0;     // workers that have not ended the round
  bool stopped_ = false;
  Body body_ = nullptr;
  void* context_ = nullptr;
  size_t n_ = 0;
  std::atomic<size_t> next_{0};
};

ThreadPool* pool_create(size_t threads, const Allocator& allocator) {
  static_assert(alignof(ThreadPool) >= alignof(ThreadPool::Worker), "workers follow the pool");
  const size_t workers = threads - 1;
  void* memory = allocator.allocate(allocator.context,
                                    sizeof(ThreadPool) + workers * sizeof(ThreadPool::Worker),
                                    alignof(ThreadPool));
  if (memory == nullptr) return nullptr;
  auto* pool = new (memory) ThreadPool(allocator);
  if (pool->start(workers)) return pool;
  pool_destroy(pool);
  return nullptr;
}

void pool_destroy(ThreadPool* pool) {
  pool->stop();
  const Allocator allocator = pool->allocator();
  pool->~ThreadPool();
  allocator.release(allocator.context, pool);
}

size_t pool_threads(ThreadPool* pool) { return pool->threads(); }

void pool_run_tiles(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context, size_t n,
                    size_t tile) {
  struct Tiles {
    void (*body)(void*, size_t, size_t);
    void* context;
    size_t n, tile;
  } tiles = {body, context, n, tile};
  pool->run(
      [](void* t, size_t, size_t i) {
        const auto& all = *static_cast<Tiles*>(t);
        const size_t begin = i * all.tile, rest = all.n - begin;
        all.body(all.context, begin, rest < all.tile ? rest : all.tile);
      },
      &tiles, (n - 1) / tile + 1);
}

void pool_run_items(ThreadPool* pool, void (*body)(void*, size_t, size_t), void* context,
                    size_t n) {
  pool->run(body, context, n);
}

}  // namespace lazyrt

#endif
