// Work: no value, node or method makes loops that do not end in reasonable time.

#include <cinttypes>

#include "runtime/bundle/method_check.h"

namespace lazyrt {

WorkMeter::WorkMeter(const LoadOptions& options)
    : limit_(options.work_limit == 0 ? kDefaultWorkLimit : options.work_limit),
      node_limit_(options.node_work_limit == 0 ? kDefaultNodeWorkLimit : options.node_work_limit) {}

Fault WorkMeter::add_node(Work work) {
  if (work.steps() > node_limit_) {
    return Fault(Error::kLimitExceeded,
                 "its work is %" PRIu64 " steps, at most %" PRIu64
                 " are allowed for a node (node_work_limit)",
                 work.steps(), node_limit_);
  }
  used_ = used_ + work;
  if (used_.steps() <= limit_) return {};
  return Fault(Error::kLimitExceeded,
               "with it the method's work is %" PRIu64 " steps, at most %" PRIu64
               " are allowed (work_limit)",
               used_.steps(), limit_);
}

Fault WorkMeter::check_volume(Work volume) const {
  if (volume.steps() <= node_limit_) return {};
  return Fault(Error::kLimitExceeded,
               "its extents other than 0 multiply to %" PRIu64 ", at most %" PRIu64
               " are allowed (node_work_limit)",
               volume.steps(), node_limit_);
}

}  // namespace lazyrt
