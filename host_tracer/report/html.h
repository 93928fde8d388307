#pragma once

#include <string>

#include "host_tracer/report/summary.h"

namespace lazyrt {

/// One self-contained HTML page about a bundle: interface, memory plan drawn over the nodes, cost
/// by module, every node with who runs it, versions. `summary` adds what the export did; may be
/// nullptr.
std::string html_report(const BundleInfo& bundle, const ExportSummary* summary);

}  // namespace lazyrt
