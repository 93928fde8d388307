// Session: the public face of SessionState, and the guard that lets one thread in at a time.

#include "lazyrt/runtime.h"

#include <new>

#include "runtime/exec/session_state.h"
#include "runtime/platform/platform.h"

namespace lazyrt {
namespace {

constexpr int kMaxThreads = 256;

/// Holds the session for one call.
class Entry {
 public:
  explicit Entry(const SessionState& state)
      : busy_(state.busy()), entered_(!busy_.exchange(true, std::memory_order_acquire)) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() {
    if (entered_) busy_.store(false, std::memory_order_release);
  }
  /// False: another thread has it.
  explicit operator bool() const { return entered_; }

 private:
  std::atomic<bool>& busy_;
  const bool entered_;
};

Fault busy() { return Fault(Error::kBusy, "another thread is using this session"); }

Fault check_options(const SessionOptions& options) {
  if (options.backend == nullptr) {
    return Fault(Error::kInvalidArgument,
                 "SessionOptions::backend is null: pass cpu_backend() or another");
  }
  if (!kCanWatch && options.watch != nullptr) {
    return Fault(Error::kUnsupported,
                 "SessionOptions::watch: this runtime was built with LAZYRT_WATCH=OFF");
  }
  if (options.deadline_nanoseconds != 0 && !platform_has_ticks()) {
    return Fault(Error::kUnsupported,
                 "SessionOptions::deadline_nanoseconds: this platform has no clock "
                 "(platforms/baremetal: set_ticks_hook)");
  }
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return Fault(Error::kInvalidArgument, "threads is %d, allowed are 1 to %d", options.threads,
                 kMaxThreads);
  }
  if ((options.allocator.allocate == nullptr) != (options.allocator.release == nullptr)) {
    return Fault(Error::kInvalidArgument,
                 "SessionOptions::allocator needs both allocate and release");
  }
  return {};
}

Allocator allocator_of(const SessionOptions& options) {
  if (options.allocator.allocate == nullptr) return platform_allocator();
  return {options.allocator.context, options.allocator.allocate, options.allocator.release};
}

void destroy_state(SessionState* state) {
  if (state == nullptr) return;
  const Allocator allocator = state->source();
  state->~SessionState();
  allocator.release(allocator.context, state);
}

}  // namespace

Result<Session> Session::create(const Method& method, const SessionOptions& options) {
  if (method.program_ == nullptr)
    return Fault(Error::kInvalidArgument, "the method belongs to no program");
  LAZYRT_RETURN_IF_ERROR(check_options(options));
  const Allocator allocator = allocator_of(options);
  void* memory = allocator.allocate(allocator.context, sizeof(SessionState), alignof(SessionState));
  if (memory == nullptr) return no_memory_for_session();
  Session session;
  session.state_ = new (memory) SessionState(*method.program_, method.index_, options, allocator);
  const Fault status = session.state_->make();
  if (!status.ok()) return status;
  return session;
}

Session::Session(Session&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }

Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    destroy_state(state_);
    state_ = other.state_;
    other.state_ = nullptr;
  }
  return *this;
}

Session::~Session() { destroy_state(state_); }

Status Session::set_input(size_t i, const void* data, size_t bytes) {
  const Entry entry(*state_);
  return entry ? state_->set_input(i, data, bytes) : busy();
}

Status Session::set_input(size_t i, const TensorView& tensor) {
  const Entry entry(*state_);
  return entry ? state_->set_input(i, tensor) : busy();
}

Status Session::bind_input(size_t i, const TensorView& tensor, size_t readable) {
  const Entry entry(*state_);
  return entry ? state_->bind_input(i, tensor, readable) : busy();
}

Status Session::bind_output(size_t i, void* data, size_t writable, const Backend* device) {
  const Entry entry(*state_);
  return entry ? state_->bind_output(i, data, writable, device) : busy();
}

Status Session::bind_shapes(Span<const Shape> inputs) {
  const Entry entry(*state_);
  return entry ? state_->bind_shapes(inputs) : busy();
}

Status Session::run() {
  const Entry entry(*state_);
  return entry ? state_->run() : busy();
}

void Session::cancel() { state_->cancel(); }

Result<TensorView> Session::output(size_t i) const {
  const Entry entry(*state_);
  return entry ? state_->output(i) : Result<TensorView>(busy());
}

Result<size_t> Session::variant() const {
  const Entry entry(*state_);
  return entry ? state_->variant() : Result<size_t>(busy());
}

Status Session::reset_state() {
  const Entry entry(*state_);
  return entry ? state_->reset_state() : busy();
}

Status Session::set_state(size_t i, const TensorView& tensor) {
  const Entry entry(*state_);
  return entry ? state_->set_state(i, tensor) : busy();
}

Result<TensorView> Session::state(size_t i) const {
  const Entry entry(*state_);
  return entry ? state_->state(i) : Result<TensorView>(busy());
}

SessionStats Session::stats() const { return state_->stats(); }
size_t Session::node_count() const { return state_->node_count(); }
/// Keeps nobody out: a run may begin meanwhile.
Result<NodeInfo> Session::node(size_t i) const {
  NodeInfo info;
  LAZYRT_RETURN_IF_ERROR(state_->busy() ? busy() : state_->find_node(i, &info));
  return info;
}
uint64_t Session::guard_refusals(size_t guard, size_t variant) const {
  return state_->guard_refusals(guard, variant);
}

}  // namespace lazyrt
