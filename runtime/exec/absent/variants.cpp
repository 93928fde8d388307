// Replaces bundle/variant_rules.cpp in a build without variants.

#include "runtime/exec/absent/left_out.h"

namespace lazyrt {

/// REQUIRES: `ops` is the table of all methods here. The first variant ends the check.
Fault check_variant(const OpTable& ops, const fb::Method&, const fb::Method&) {
  return left_out(ops, "variants");
}

}  // namespace lazyrt
