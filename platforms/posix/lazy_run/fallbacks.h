#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/options.h"

namespace lazyrt::run {

/// Prints which operators of `options.bundles` their backend leaves to another one: for each
/// operator, types and reason, the number of bundles and nodes. `open` opens a bundle by its path.
/// Throws a Failure.
void list_fallbacks(const Options& options, const OpTable& ops, const Backend* backend,
                    const std::function<Program(const std::string&)>& open, std::FILE* out);

}  // namespace lazyrt::run
