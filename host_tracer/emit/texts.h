#pragma once

// How long the texts of a bundle may be: schema/FORMAT.md.

#include <set>
#include <string>

#include "host_tracer/trace/trace.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// The name of a part of the interface: not empty and, with a number appended, still within what
/// the first readers of the format accept, 1000 bytes.
std::string interface_name(const std::string& wanted, const std::string& fallback);

/// Names of one kind of parts, which occur once.
class Names {
 public:
  std::string unique(const std::string& wanted, const std::string& fallback);

 private:
  std::set<std::string> taken_;
};

/// A node's source as bundles have it: no folder of the machine that exported, each of its texts
/// no longer than a name may be. Of a file's name the end stays.
Source portable_source(const Source& source);

/// Shortens each text of the bundle that is longer than a reader takes.
void limit_texts(fb::BundleT* bundle);

}  // namespace lazyrt
