#include "runtime/core/run_stop.h"

namespace lazyrt {

Fault RunStop::status() const {
  if (cancelled_.load(std::memory_order_relaxed)) return Fault(Error::kCancelled, "cancelled");
  return Fault(Error::kDeadlineExceeded,
               "the run took longer than its deadline of %.6g s "
               "(SessionOptions::deadline_nanoseconds)",
               static_cast<double>(deadline_) * 1e-9);
}

}  // namespace lazyrt
