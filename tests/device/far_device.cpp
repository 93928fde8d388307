#include "tests/device/far_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace lazyrt::test {
namespace {

/// Blocks of pages that are PROT_NONE but while an Opening lives.
class FarMemory {
 public:
  void* allocate(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t size = (bytes + page) / page * page;
    void* block = mmap(nullptr, size, protection(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
    blocks_[block] = size;
    ++far_counts().blocks;
    return block;
  }
  void release(void* block) {
    const std::lock_guard lock(mutex_);
    munmap(block, blocks_.at(block));
    blocks_.erase(block);
    --far_counts().blocks;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    if (openings_++ == 0) protect();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--openings_ == 0) protect();
  }
  bool can_be_read() {
    const std::lock_guard lock(mutex_);
    int ends[2];
    if (pipe(ends) != 0) return true;
    bool readable = false;  // the system reads it for us: EFAULT, not a signal
    for (const auto& [block, bytes] : blocks_) readable = readable || write(ends[1], block, 1) == 1;
    ::close(ends[0]);
    ::close(ends[1]);
    return readable;
  }

 private:
  int protection() const { return openings_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE; }
  void protect() {
    for (const auto& [block, bytes] : blocks_) mprotect(block, bytes, protection());
  }

  std::mutex mutex_;
  std::map<void*, uint64_t> blocks_;
  int openings_ = 0;
};

FarMemory& far_memory() {
  static FarMemory memory;
  return memory;
}

struct Opening {
  Opening() { far_memory().open(); }
  ~Opening() { far_memory().close(); }
};

/// The queue of a session: jobs one after the other, none after an error until it was told.
class FarQueue {
 public:
  FarQueue() : thread_([this] { work(); }) {}
  ~FarQueue() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void push(std::function<Status()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
  }
  Status drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return jobs_.empty(); });
    return error_;
  }
  void forget_error() {
    const std::lock_guard lock(mutex_);
    error_ = Status();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const bool skip = !error_.ok();
      const std::function<Status()>& job = jobs_.front();  // stays until it has ended
      lock.unlock();
      const Status status = skip ? Status() : job();
      lock.lock();
      if (!status.ok()) error_ = status;
      jobs_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Status()>> jobs_;
  Status error_;
  bool stopped_ = false;
  std::thread thread_;
};

struct FarNode {
  size_t index = 0;
  const OpEntry* op = nullptr;
  OpAttrs attrs;
  PreparedKernel prepared;
  size_t inputs = 0, outputs = 0;
  Span<const TensorView> operands;
};

struct FarSegment {
  FarQueue* queue = nullptr;
  std::vector<FarNode> nodes;
  void* workspace = nullptr;

  Fault run() const {
    if (far_rules().before_segment) far_rules().before_segment();
    const Opening opening;
    ++far_counts().segments;
    for (const FarNode& node : nodes) {
      ++far_counts().nodes;
      const RunContext context = {node.attrs, node.operands.subspan(0, node.inputs),
                                  node.operands.subspan(node.inputs, node.outputs), workspace};
      LAZYRT_RETURN_IF_ERROR(node.op->def->reference.run(node.prepared.state, context)
                                 .with_context("node %zu (%s)", node.index, node.op->name));
    }
    return {};
  }
};

Fault allocate(void*, uint64_t bytes, void** address) {
  *address = far_memory().allocate(bytes);
  return *address == nullptr ? Status(Error::kOutOfMemory, "far has no memory") : Status();
}

void release_memory(void*, void* address) { far_memory().release(address); }

Fault upload(void*, void* to, const void* from, uint64_t bytes) {
  const Opening opening;
  ++far_counts().uploads;
  if (bytes != 0) std::memcpy(to, from, bytes);
  return {};
}

Fault takes(void*, const OpEntry& op, const NodeSpec& node) {
  const Kernel& kernel = op.def->reference;
  if (kernel.supports != nullptr) LAZYRT_RETURN_IF_ERROR(kernel.supports(node));
  if (!far_rules().takes || far_rules().takes(op, node)) return {};
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

Status fill(const SegmentSpec& spec, FarSegment* segment, PreparedKernel* prepared) {
  for (const SegmentNode& node : spec.nodes) {
    FarNode made = {node.index, node.op, node.spec.attrs};
    made.inputs = node.spec.inputs.size();
    made.outputs = node.spec.outputs.size();
    const Kernel& kernel = node.op->def->reference;
    if (kernel.prepare != nullptr)
      LAZYRT_RETURN_IF_ERROR(kernel.prepare({node.spec, spec.allocator, nullptr}, &made.prepared));
    prepared->workspace_bytes = std::max(prepared->workspace_bytes, made.prepared.workspace_bytes);
    segment->nodes.push_back(made);
  }
  return {};
}

Fault compile(const SegmentSpec& spec, PreparedKernel* prepared) {
  if (far_rules().compiles && !far_rules().compiles(spec))
    return Fault(Error::kUnsupported, "far cannot compile this");
  auto* segment = new FarSegment{static_cast<FarQueue*>(spec.services)};
  const Status status = fill(spec, segment, prepared);
  if (!status.ok()) return release_segment(segment, spec.allocator), status;
  prepared->state = segment;
  return {};
}

Fault bind(void* state, Span<const TensorView> operands, void* workspace) {
  auto& segment = *static_cast<FarSegment*>(state);
  segment.workspace = workspace;
  size_t next = 0;
  for (FarNode& node : segment.nodes) {
    node.operands = operands.subspan(next, node.inputs + node.outputs);
    next += node.inputs + node.outputs;
  }
  return {};
}

Fault submit(void* state) {
  const auto* segment = static_cast<const FarSegment*>(state);
  segment->queue->push([segment] { return segment->run(); });
  return {};
}

Fault copy_in(void* services, void* to, const void* from, size_t bytes) {
  ++far_counts().copies_in;
  const auto* begin = static_cast<const uint8_t*>(from);
  const std::vector<uint8_t> staged(begin, begin + bytes);
  static_cast<FarQueue*>(services)->push([to, staged] {
    const Opening opening;
    std::memcpy(to, staged.data(), staged.size());
    return Fault();
  });
  return {};
}

Fault copy_out(void* services, void* to, const void* from, size_t bytes) {
  ++far_counts().copies_out;
  auto* queue = static_cast<FarQueue*>(services);
  queue->push([to, from, bytes] {
    const Opening opening;
    std::memcpy(to, from, bytes);
    return Fault();
  });
  return queue->drain();
}

Fault copy(void* services, void* to, const void* from, size_t bytes) {
  ++far_counts().copies;
  static_cast<FarQueue*>(services)->push([to, from, bytes] {
    const Opening opening;
    std::memcpy(to, from, bytes);
    return Fault();
  });
  return {};
}

Fault wait(void* services) {
  auto* queue = static_cast<FarQueue*>(services);
  const Status status = queue->drain();
  queue->forget_error();
  return status;
}

const Device kFarDevice = {
    "far memory",    allocate, release_memory, upload,   takes, compile, bind,
    release_segment, submit,   copy_in,        copy_out, copy,  wait};

Fault open(const BackendOptions&, void** services) {
  *services = new FarQueue;
  return {};
}

}  // namespace

FarRules& far_rules() {
  static FarRules rules;
  return rules;
}

FarCounts& far_counts() {
  static FarCounts counts;
  return counts;
}

bool far_memory_is_open() { return far_memory().can_be_read(); }

FarBlock::FarBlock(size_t bytes) : address_(far_memory().allocate(bytes)) {}
FarBlock::~FarBlock() { far_memory().release(address_); }

std::vector<uint8_t> FarBlock::read(size_t bytes) const {
  const Opening opening;
  const auto* data = static_cast<const uint8_t*>(address_);
  return {data, data + bytes};
}

Backend far_backend(const Backend* fallback) {
  Backend backend;
  backend.name = "far";
  backend.open = open;
  backend.close = [](void* services, const Allocator&) { delete static_cast<FarQueue*>(services); };
  backend.fallback = fallback;
  backend.device = &kFarDevice;
  return backend;
}

}  // namespace lazyrt::test
