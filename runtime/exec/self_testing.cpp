#include "lazyrt/self_test.h"

#include <cmath>
#include <cstring>
#include <new>

#include "runtime/backend/backend.h"
#include "runtime/core/allocator.h"
#include "runtime/core/fault.h"
#include "runtime/core/log.h"

namespace lazyrt {
namespace {

/// |x - y| <= absolute + relative * max|y|, infinities and NaN alike.
template <class T>
bool is_near(const TensorView& x, const TensorView& y, const Tolerance& tolerance) {
  const T* a = x.as<const T>();
  const T* b = y.as<const T>();
  double largest = 0;
  for (int64_t i = 0, n = y.numel(); i < n; ++i) {
    const double size = std::fabs(static_cast<double>(b[i]));
    if (std::isfinite(size) && size > largest) largest = size;
  }
  const double allowed = tolerance.absolute + tolerance.relative * largest;
  for (int64_t i = 0, n = y.numel(); i < n; ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <= allowed))
      return false;
  }
  return true;
}

bool is_same(const TensorView& x, const TensorView& y) {
  return x.bytes() == y.bytes() && (x.bytes() == 0 || std::memcmp(x.data, y.data, x.bytes()) == 0);
}

bool agrees(const TensorView& x, const TensorView& y, const Tolerance& tolerance) {
  if (x.dtype != y.dtype || x.shape != y.shape) return false;
  if (x.dtype == DType::kFloat32) return is_near<float>(x, y, tolerance);
  if (x.dtype == DType::kFloat64) return is_near<double>(x, y, tolerance);
  return is_same(x, y);
}

/// Copies of tensors under two numbers.
class Copies {
 public:
  Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    while (first_ != nullptr) {
      Copy* next = first_->next;
      allocator_.release(allocator_.context, first_);
      first_ = next;
    }
  }

  /// False: no memory for it.
  bool add(size_t a, size_t b, const TensorView& tensor) {
    void* memory = allocator_.allocate(allocator_.context, kHeader + tensor.bytes(), kAlignment);
    if (memory == nullptr) return false;
    auto* copy = new (memory) Copy{nullptr, a, b, tensor};
    copy->tensor.data = static_cast<uint8_t*>(memory) + kHeader;
    if (tensor.bytes() != 0) std::memcpy(copy->tensor.data, tensor.data, tensor.bytes());
    *last_ = copy;
    last_ = &copy->next;
    return true;
  }
  const TensorView* find(size_t a, size_t b) const {
    for (const Copy* copy = first_; copy != nullptr; copy = copy->next) {
      if (copy->a == a && copy->b == b) return &copy->tensor;
    }
    return nullptr;
  }

 private:
  struct Copy {
    Copy* next;
    size_t a, b;
    TensorView tensor;
  };
  static constexpr size_t kHeader = (sizeof(Copy) + kAlignment - 1) / kAlignment * kAlignment;

  const Allocator allocator_ = platform_allocator();
  Copy* first_ = nullptr;
  Copy** last_ = &first_;
};

Fault no_memory() { return Fault(Error::kOutOfMemory, "no memory for the values of a self-test"); }

class SelfTest {
 public:
  SelfTest(const Method& method, const SelfTestOptions& options)
      : method_(method), options_(options) {}

  Result<SelfTestResult> run() {
    if (method_.sample_count() == 0) return result_;
    Result<Session> session = Session::create(method_, options_.session);
    if (!session.ok()) return session.status();
    for (size_t sample = 0; sample < method_.sample_count(); ++sample) {
      bool is_right = false;
      Status status = run_twice(&*session, sample, &is_right);
      if (!status.ok()) return status;
      if (is_right) continue;
      result_.sample = sample;
      status = locate(sample);
      if (!status.ok()) return status;
      if (result_.ok) continue;
      log_result();
      return result_;
    }
    return result_;
  }

 private:
  Status run_sample(Session* session, size_t sample) const {
    if (method_.state_count() != 0) {
      const Status reset = session->reset_state();
      if (!reset.ok()) return reset;
    }
    for (size_t i = 0; i < method_.input_count(); ++i) {
      const Status set = session->set_input(i, method_.sample_input(sample, i));
      if (!set.ok()) return set;
    }
    return session->run();
  }

  Tolerance tolerance_of(size_t sample) const {
    const Tolerance own = method_.sample_tolerance(sample);
    return own.absolute != 0 || own.relative != 0 ? own : options_.tolerance;
  }

  bool is_as_in_file(const Session& session, size_t sample) const {
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Result<TensorView> output = session.output(i);
      if (!output.ok() || !agrees(*output, method_.sample_output(sample, i), tolerance_of(sample)))
        return false;
    }
    return true;
  }

  /// A run that fails is not right.
  Status run_twice(Session* session, size_t sample, bool* is_right) {
    result_.varies = false;
    if (!run_sample(session, sample).ok()) return {};
    *is_right = is_as_in_file(*session, sample);
    Copies outputs;
    for (size_t i = 0; i < method_.output_count(); ++i) {
      if (!outputs.add(i, 0, *session->output(i))) return no_memory();
    }
    if (!run_sample(session, sample).ok()) {
      *is_right = false;
      return {};
    }
    for (size_t i = 0; i < method_.output_count(); ++i)
      result_.varies = result_.varies || !is_same(*session->output(i), *outputs.find(i, 0));
    *is_right = *is_right && !result_.varies;
    return {};
  }

  /// Finds the first wrong node by comparing the values of both backends.
  Status locate(size_t sample) {
    result_.ok = false;
    bool is_trusted_right = false;
    Status status = run_trusted(sample, &is_trusted_right);
    if (!status.ok()) return status;
    Watch watch;
    watch.context = this;
    watch.take = [](void* self, const TapPoint& point, const TensorView& value) {
      static_cast<SelfTest*>(self)->compare(point, value);
    };
    SessionOptions options = options_.session;
    options.watch = &watch;
    Result<Session> tapped = Session::create(method_, options);
    if (!tapped.ok()) return tapped.status();
    const bool ran = run_sample(&*tapped, sample).ok();
    result_.ok = ran && !is_trusted_right && !result_.varies && !result_.is_located;
    return {};
  }

  void log_result() const {
    const char* what = result_.varies ? "differs from run to run" : "is wrong";
    const char* backend = options_.session.backend->name;
    if (result_.is_located) {
      const TapPoint& point = result_.point;
      log_line(LogLevel::kWarning,
               "self-test of %s: sample %zu %s, first at node %zu (%s) of %.80s", backend,
               result_.sample, what, point.node, point.op, point.module_path);
    } else {
      log_line(LogLevel::kWarning, "self-test of %s: sample %zu %s, at which node is not known",
               backend, result_.sample, what);
    }
  }

  Status run_trusted(size_t sample, bool* is_right) {
    Watch watch;
    watch.context = this;
    watch.take = [](void* self, const TapPoint& point, const TensorView& value) {
      static_cast<SelfTest*>(self)->keep(point, value);
    };
    SessionOptions options = options_.session;
    options.backend = options_.trusted;
    options.watch = &watch;
    Result<Session> session = Session::create(method_, options);
    if (!session.ok()) return session.status();
    const Status status = run_sample(&*session, sample);
    if (!status.ok()) return status;
    *is_right = is_as_in_file(*session, sample);
    return is_short_ ? Status(no_memory()) : status;
  }

  void keep(const TapPoint& point, const TensorView& value) {
    trusted_variant_ = point.variant;
    is_short_ = is_short_ || !values_.add(point.node, point.result, value);
  }
  void compare(const TapPoint& point, const TensorView& value) {
    if (result_.is_located || point.variant != trusted_variant_) return;
    const TensorView* right = values_.find(point.node, point.result);
    if (right == nullptr || agrees(value, *right, options_.tolerance)) return;
    result_.is_located = true;
    result_.point = point;
  }

  const Method& method_;
  const SelfTestOptions& options_;
  SelfTestResult result_;
  Copies values_;  ///< the trusted backend's values, by node and result
  size_t trusted_variant_ = 0;
  bool is_short_ = false;
};

}  // namespace

Result<SelfTestResult> self_test(const Method& method, const SelfTestOptions& options) {
  return SelfTest(method, options).run();
}

}  // namespace lazyrt
