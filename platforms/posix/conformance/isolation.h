#pragma once

#include <functional>

#include "platforms/posix/conformance/case_runner.h"

namespace lazyrt::conformance {

/// Runs work(0), work(1), ... work(count - 1) in other processes: a case that ends its process or
/// takes longer than `limit_seconds` costs only itself, and the next begins in a new process.
/// `done` is called in this process, in order. Throws a run::Failure if no process can be made.
/// REQUIRES: this process has one thread.
void run_isolated(size_t count, double limit_seconds, const std::function<Outcome(size_t)>& work,
                  const std::function<void(size_t, const Outcome&)>& done);

}  // namespace lazyrt::conformance
