#include "host_tracer/cli/finish_export.h"

#include "host_tracer/report/sha256.h"

namespace lazyrt {

void describe_passes(const ExportReport& report, ExportSummary* summary) {
  for (const PassReport& pass : report.passes) {
    summary->passes.push_back(
        {pass.name, pass.nodes_before, pass.nodes_after, pass.changes, pass.milliseconds});
  }
  summary->size_doubt = report.size_doubt;
  summary->plan = {report.arena_lower_bound, report.in_place, report.views, report.permutes};
  summary->imported_nodes =
      report.passes.empty() ? report.nodes.size() : report.passes.front().nodes_before;
  for (const StageTime& time : report.times) {
    const bool early = time.stage == "import" || time.stage == "passes";
    (early ? summary->seconds.passes : summary->seconds.emit) += time.milliseconds / 1e3;
  }
}

Outcome<Done> describe_made(const LoadedBundle& bundle, const std::string& path,
                            ExportSummary* summary) {
  summary->bundle = describe_bundle(bundle);
  summary->bundle.path = path;
  auto hash = file_sha256(bundle.path());
  if (!hash.ok()) return hash.failure();
  summary->bundle_sha256 = std::move(*hash);
  return Done{};
}

std::optional<Failure> mismatch_of(const ExportSummary& summary, const std::string& advice) {
  const std::string& difference = summary.check.difference;
  if (difference.empty()) return std::nullopt;
  const std::string text = "the bundle does not give what the program gives: " + difference + "\n";
  if (!summary.size_doubt.empty())
    return Failure{Error::kUnsupported, summary.size_doubt + "\nAs it is, " + text};
  return Failure{Error::kInternal, text + advice};
}

}  // namespace lazyrt
