#pragma once

#include <functional>

#include "platforms/posix/conformance/case_runner.h"

namespace lazyrt::conformance {

/// Work(0), Work(1), ... Work(count - 1), in processes of their own: a case that ends its process
/// or takes longer than `limit_seconds` costs that case only, the next begins in a new one. `done`
/// is called in this process, in order. Throws a run::Failure where no process can be made.
/// REQUIRES: this process has one thread.
void run_isolated(size_t count, double limit_seconds, const std::function<Outcome(size_t)>& work,
                  const std::function<void(size_t, const Outcome&)>& done);

}  // namespace lazyrt::conformance
