#pragma once

// How long the texts of a bundle may be: schema/FORMAT.md.

#include <set>
#include <string>

#include "host_tracer/capture/trace.h"
#include "host_tracer/support/outcome.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// Names that are not empty, occur once and have room in a bundle.
class Names {
 public:
  std::string unique(const std::string& wanted, const std::string& fallback);

 private:
  std::set<std::string> taken_;
};

/// A node's source as bundles have it: no folder of the machine that exported, each of its texts
/// no longer than a name may be. Of a file's name the end stays.
Source portable_source(const Source& source);

/// Shortens what is longer than a reader takes: names, then all other texts, whatever is in the
/// bundle. kUnsupported: an info "lazyrt...." that is too long, as programs read it.
Outcome<Done> limit_texts(fb::BundleT* bundle);

}  // namespace lazyrt
