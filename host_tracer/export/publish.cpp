#include "host_tracer/export/publish.h"

#include <tuple>
#include <utility>

#include "host_tracer/report/html.h"
#include "host_tracer/report/sha256.h"
#include "host_tracer/support/partial_file.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

/// What passes, plan and writer did, into the summary.
void describe_compiled(const ExportReport& report, ExportSummary* summary) {
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

void describe_check(CheckReport checked, const ExportJob& job, ExportSummary* summary) {
  summary->check = std::move(checked);
  summary->seconds.check = summary->check.seconds;
  if (job.check.level == CheckLevel::kNone) summary->check.unchecked = job.unchecked;
}

/// What stands in the bundle, whose place will be `path`, and its hash.
Outcome<Done> describe_made(const LoadedBundle& bundle, const std::string& path,
                            ExportSummary* summary) {
  summary->bundle = describe_bundle(bundle);
  summary->bundle.path = path;
  auto hash = file_sha256(bundle.path());
  if (!hash.ok()) return hash.failure();
  summary->bundle_sha256 = std::move(*hash);
  return Done{};
}

Failure mismatch(const ExportSummary& summary, const std::string& advice) {
  const std::string text =
      "the bundle does not give what the program gives: " + summary.check.difference;
  if (!summary.size_doubt.empty())
    return {Error::kUnsupported, summary.size_doubt + "\nAs it is, " + text,
            FailureKind::kMismatch};
  return {Error::kInternal, advice.empty() ? text : text + "\n" + advice, FailureKind::kMismatch};
}

}  // namespace

Outcome<PublishedExport> publish_export(std::vector<Trace>* traces, const ExportJob& job,
                                        ExportSummary summary) {
  PartialFile file(job.path);
  ExportOptions compile = job.compile;
  compile.path = file.path();
  compile.emit.shown_path = job.path;
  DifferentialOptions check = job.check;
  check.pipeline = compile.pipeline;
  auto made = export_checked(traces, default_ops(), compile, check);
  if (!made.ok()) return made.failure();
  describe_notes(*traces, &summary);
  describe_compiled(made->exported, &summary);
  describe_check(std::move(made->checked), job, &summary);
  const bool differs = !summary.check.difference.empty();
  if (differs && !job.keep) return mismatch(summary, job.advice);
  if (!differs && job.checked && check.level != CheckLevel::kNone)
    job.checked(made->bundle->path());
  if (job.counts) std::tie(summary.captures, summary.eager_calls) = job.counts();
  LAZYRT_TRY(describe_made(*made->bundle, job.path, &summary));
  if (!job.report_path.empty()) {
    LAZYRT_TRY(write_text_file(job.report_path, html_report(summary.bundle, &summary)));
  }
  LAZYRT_TRY(file.publish());
  if (differs) return mismatch(summary, job.advice);
  return PublishedExport{std::move(made->exported), std::move(summary)};
}

Failure broken_failure(const std::string& what, const std::vector<Finding>& findings) {
  std::string text = what + " is BROKEN, no bundle is written:";
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string where = finding.source.text();
    text += "\n  " + finding.message + " [" + finding.id + "]" +
            (where.empty() ? "" : " at " + where) +
            (finding.suggestion.empty() ? "" : "\n    " + finding.suggestion);
  }
  return {Error::kUnsupported, text, FailureKind::kBroken};
}

}  // namespace lazyrt
