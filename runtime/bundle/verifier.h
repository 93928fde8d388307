#pragma once

#include "lazyrt/runtime.h"
#include "runtime/bundle/reader.h"
#include "runtime/core/fault.h"

namespace lazyrt {

struct Governor;  // method_check.h

/// Checks everything that the tables of a bundle say against schema/FORMAT.md. After an ok answer
/// no index, size, offset or shape in it needs a check again, and every op is in `ops`. REQUIRES:
/// read_sections gave `sections`.
///
/// kInvalidBundle: a rule is broken. kUnsupported: well-formed, but it needs what this runtime or
/// `ops` lacks. kOutOfMemory: an arena larger than memory_limit, or no memory for the check itself.
/// kLimitExceeded: a value, node or method beyond the work limits.
/// The check takes time and memory in proportion to the metadata's size.
/// `memory` is what the check itself takes, all given back.
Fault verify_bundle(const BundleSections& sections, const OpTable& ops, const LoadOptions& options,
                    const Allocator& memory);

/// The same for one method of a bundle, bound to other sizes than those in its file: all rules but
/// those of its samples. kCancelled, kDeadlineExceeded: governor.stop is due. REQUIRES: `method` is
/// in sections.metadata, and check_method_structure was ok.
Fault verify_bound_method(const BundleSections& sections, const fb::Method& method,
                          const OpTable& ops, const LoadOptions& options, const Allocator& memory,
                          const Governor& governor);

}  // namespace lazyrt
