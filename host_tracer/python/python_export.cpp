#include "host_tracer/python/python_export.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "host_tracer/cli/self_check.h"
#include "host_tracer/exporter.h"
#include "host_tracer/report/html.h"
#include "host_tracer/report/sha256.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;

/// A file that is removed again unless it was moved away.
class PartialFile {
 public:
  explicit PartialFile(const std::string& path) : path_(path + ".partial") {}
  ~PartialFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return path_; }
  Outcome<Done> publish(const std::string& target) const {
    std::error_code error;
    fs::rename(path_, target, error);
    if (!error) return Done{};
    return Failure{Error::kIo, "cannot write " + target + ": " + error.message()};
  }

 private:
  std::string path_;
};

Outcome<Done> write_text(const std::string& path, const std::string& text) {
  const PartialFile file(path);
  std::ofstream out(file.path(), std::ios::binary);
  out << text;
  out.close();
  if (!out) return Failure{Error::kIo, "cannot write " + path};
  return file.publish(path);
}

void describe_passes(const ExportReport& report, ExportSummary* summary) {
  for (const PassReport& pass : report.passes) {
    summary->passes.push_back(
        {pass.name, pass.nodes_before, pass.nodes_after, pass.changes, pass.milliseconds});
  }
  summary->plan = {report.arena_lower_bound, report.in_place, report.views, report.permutes};
  summary->imported_nodes =
      report.passes.empty() ? report.nodes.size() : report.passes.front().nodes_before;
  for (const StageTime& time : report.times) {
    const bool early = time.stage == "import" || time.stage == "passes";
    (early ? summary->seconds.passes : summary->seconds.emit) += time.milliseconds / 1e3;
  }
}

Outcome<Done> write(const std::vector<Trace>& traces, const PythonExportOptions& options,
                    const std::string& path, ExportSummary* summary) {
  ExportOptions exporter;
  exporter.path = path;
  exporter.emit.producer = "lazyrt (Python) 0.1.0";
  exporter.emit.strip_samples = !options.keep_samples;
  exporter.emit.info = options.info;
  exporter.progress = options.progress;
  auto report = export_traces(traces, default_ops(), exporter);
  if (!report.ok()) return report.failure();
  describe_passes(*report, summary);
  return Done{};
}

/// Runs the bundle on each trace's sample.
Outcome<Done> check(const std::vector<Trace>& traces, const std::string& path,
                    ExportSummary* summary) {
  const auto begin = std::chrono::steady_clock::now();
  for (const Trace& trace : traces) {
    auto lines = check_bundle(path, trace);
    if (!lines.ok()) {
      return Failure{lines.failure().error,
                     "the bundle made does not run: " + lines.failure().text};
    }
    summary->check.insert(summary->check.end(), lines->begin(), lines->end());
  }
  summary->seconds.check =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return Done{};
}

Outcome<Done> refuse_mismatch(const std::vector<CheckLine>& lines) {
  std::string wrong;
  for (const CheckLine& line : lines) {
    if (line.ok) continue;
    char text[160];
    std::snprintf(text, sizeof text, ": error %.3g against a largest value of %.3g; ",
                  line.max_absolute, line.max_value);
    wrong += "output '" + line.output + "'" + text;
  }
  if (wrong.empty()) return Done{};
  return Failure{Error::kInternal, "the bundle does not reproduce eager's outputs: " + wrong +
                                       "this is a bug of LazyRT, please report it"};
}

}  // namespace

Outcome<ExportSummary> export_from_python(const std::vector<Trace>& traces,
                                          const PythonExportOptions& options) {
  ExportSummary summary;
  summary.model = options.model;
  summary.seconds.trace = options.trace_seconds;
  describe_traces(traces, &summary);
  const PartialFile file(options.path);
  LAZYRT_TRY(write(traces, options, file.path(), &summary));
  if (options.check) {
    if (options.progress) options.progress("check against eager", 0, 0);
    LAZYRT_TRY(check(traces, file.path(), &summary));
    LAZYRT_TRY(refuse_mismatch(summary.check));
  } else {
    summary.unchecked = "check=False";
  }
  auto info = describe_bundle(file.path());
  if (!info.ok()) {
    return Failure{Error::kInternal, "the bundle made is refused: " + info.failure().text};
  }
  summary.bundle = std::move(*info);
  summary.bundle.path = options.path;
  auto hash = file_sha256(file.path());
  if (!hash.ok()) return hash.failure();
  summary.bundle_sha256 = std::move(*hash);
  if (!options.report_path.empty()) {
    LAZYRT_TRY(write_text(options.report_path, html_report(summary.bundle, &summary)));
  }
  LAZYRT_TRY(file.publish(options.path));
  return summary;
}

}  // namespace lazyrt
