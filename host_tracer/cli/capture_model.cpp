#include "host_tracer/cli/capture_model.h"

#include "host_tracer/frontends/pt2/pt2.h"
#include "host_tracer/frontends/shared/model_kind.h"
#include "host_tracer/frontends/torchscript/torchscript.h"
#include "host_tracer/trace/allow.h"

namespace lazyrt {
namespace {

using Traces = std::vector<Trace>;

Outcome<Traces> capture_exported(const std::string& path, const FileOptions& file,
                                 const CaptureSettings& settings) {
  auto trace = capture_pt2(path, {file, true, settings.file_dims, settings.interface});
  if (!trace.ok()) return trace.failure();
  return Traces{std::move(*trace)};
}

Outcome<Traces> capture_script(const std::string& path, const FileOptions& file,
                               const CaptureSettings& settings) {
  auto traces = capture_torchscript(
      path, {file, settings.second_trace, settings.allow, settings.interface, settings.phases});
  if (traces.ok() && !settings.second_trace) {
    traces->front().notes.push_back("baked values were not looked for (--no-second-trace)");
  }
  return traces;
}

}  // namespace

Outcome<Traces> capture_model(const std::string& path, std::vector<GivenInput> inputs,
                              const CaptureSettings& settings) {
  if (auto known = parse_allowances(settings.allow); !known.ok()) return known.failure();
  const auto kind = model_kind(path);
  if (!kind.ok()) return kind.failure();
  const auto capture_kind = *kind == ModelKind::kTorchScript ? capture_script : capture_exported;
  auto traces =
      capture_kind(path, {std::move(inputs), settings.sample_outputs, settings.progress}, settings);
  if (!traces.ok()) return traces;
  for (Trace& trace : *traces) LAZYRT_TRY(allow_findings(trace, settings.allow));
  return traces;
}

}  // namespace lazyrt
