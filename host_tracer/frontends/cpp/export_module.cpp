#include "host_tracer/frontends/cpp/export_module.h"

#include "lazyrt/runtime.h"

namespace lazyrt {

Outcome<ExportReport> export_trace_to(const Trace& trace, const std::string& path) {
  if (verdict_of(trace) == Verdict::kBroken) {
    std::string text = "the trace is BROKEN:";
    for (const Finding& finding : trace.findings) {
      if (finding.severity != Severity::kError) continue;
      const std::string where = finding.source.text();
      text += "\n  " + finding.id + ": " + finding.message + (where.empty() ? "" : " at " + where);
    }
    return Failure{Error::kUnsupported, text};
  }
  ExportOptions options;
  options.path = path;
  return export_trace(trace, default_ops(), options);
}

}  // namespace lazyrt
