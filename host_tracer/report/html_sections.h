#pragma once

// The parts of the report, each one HTML text; empty where there is nothing to say.

#include <string>

#include "host_tracer/report/bundle_info.h"
#include "host_tracer/report/summary.h"

namespace lazyrt {

// ---------------------------------------------------------------- of the export
std::string verdict_section(const ExportSummary& summary);
/// The same of a bundle alone.
std::string verdict_section(const BundleInfo& bundle);
std::string findings_section(const ExportSummary& summary);
std::string guards_section(const ExportSummary& summary);
std::string syncs_section(const ExportSummary& summary);
std::string leaves_section(const ExportSummary& summary);
std::string passes_section(const ExportSummary& summary);
std::string numerics_section(const ExportSummary& summary);
std::string notes_section(const ExportSummary& summary);

// ---------------------------------------------------------------- of the bundle
/// `summary` may be nullptr.
std::string cards_section(const BundleInfo& bundle, const MethodInfo& method,
                          const ExportSummary* summary);
std::string interface_section(const MethodInfo& method);
/// Of a bundle with several variants, or with guards that no summary tells of.
std::string variants_section(const MethodInfo& method, bool with_guards);
std::string placement_section(const MethodInfo& method);
std::string modules_section(const MethodInfo& method);
std::string memory_section(const MethodInfo& method, const ExportSummary* summary);
/// The table itself is drawn by kReportScript from nodes_json(); `index` is the method's.
std::string nodes_section(const MethodInfo& method, size_t index);
/// For a <script type=application/json>: safe to stand there.
std::string nodes_json(const BundleInfo& bundle);
std::string versions_section(const BundleInfo& bundle, const ExportSummary* summary);

}  // namespace lazyrt
