#include "host_tracer/frontends/cpp/export_module.h"

#include <filesystem>

#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

std::string errors_of(const Trace& trace) {
  std::string text = "the trace is BROKEN:";
  for (const Finding& finding : trace.findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string where = finding.source.text();
    text += "\n  " + finding.id + ": " + finding.message + (where.empty() ? "" : " at " + where);
  }
  return text;
}

/// A file that is removed again unless it was moved away.
struct PartialFile {
  explicit PartialFile(const std::string& target) : path(target + ".partial") {}
  ~PartialFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  const std::string path;
};

Outcome<ModuleExport> make_checked(const Trace& trace, const std::string& path,
                                   const ModuleExportOptions& options) {
  ExportOptions exporter = options.exporter;
  exporter.path = path;
  auto exported = export_trace(trace, default_ops(), exporter);
  if (!exported.ok()) return exported.failure();
  DifferentialOptions check = options.check;
  check.pipeline = exporter.pipeline;
  const auto bundle = LoadedBundle::open(path);
  if (!bundle.ok()) return bundle.failure();
  auto checked = check_bundle(**bundle, {trace}, check);
  if (!checked.ok()) return checked.failure();
  if (!checked->difference.empty()) {
    return Failure{Error::kInternal,
                   "the bundle does not give what the program gives: " + checked->difference};
  }
  return ModuleExport{std::move(*exported), std::move(*checked)};
}

}  // namespace

Outcome<ModuleExport> export_trace_to(const Trace& trace, const std::string& path,
                                      const ModuleExportOptions& options) {
  if (verdict_of(trace) == Verdict::kBroken) {
    return Failure{Error::kUnsupported, errors_of(trace)};
  }
  const PartialFile file(path);
  auto made = make_checked(trace, file.path, options);
  if (!made.ok()) return made;
  std::error_code error;
  std::filesystem::rename(file.path, path, error);
  if (error) return Failure{Error::kIo, "cannot write " + path + ": " + error.message()};
  return made;
}

}  // namespace lazyrt
