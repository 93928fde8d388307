#include "host_tracer/cli/self_check.h"

#include <cmath>
#include <limits>

#include "host_tracer/graph/elements.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

/// Of two equal elements 0, of a number and a NaN or of unlike infinities infinity.
double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

Outcome<Done> set_inputs(const Trace& trace, Session* session) {
  for (size_t i = 0; i < trace.sample_inputs.size(); ++i) {
    const SampleTensor& sample = trace.sample_inputs[i];
    TensorView view{const_cast<uint8_t*>(sample.data.data), sample.dtype, {}};
    for (const int64_t extent : sample.shape) view.shape.append(extent);
    const Status status = session->set_input(i, view);
    if (!status.ok()) return status;
  }
  return Done{};
}

/// One line for each tensor among the results; numbers are in the bundle already.
Outcome<std::vector<CheckLine>> compare(const Trace& trace, const Method& method,
                                        const Session& session) {
  std::vector<CheckLine> lines;
  size_t next = 0;
  for (size_t i = 0; i < trace.outputs.size(); ++i) {
    if (trace.outputs[i].literal || next == method.output_count()) continue;
    auto ours = session.output(next);
    if (!ours.ok()) return ours.status();
    const SampleTensor& eager = trace.sample_outputs[i];
    const char* name = method.output(next++).name;
    if (eager.dtype != ours->dtype || eager.data.bytes != ours->bytes()) {
      return Failure{Error::kInternal,
                     std::string("output '") + name + "' is not of eager's dtype or shape"};
    }
    lines.push_back(compare_output(name, ours->dtype, ours->data, eager.data.data, ours->numel()));
  }
  return lines;
}

}  // namespace

CheckLine compare_output(const std::string& name, DType dtype, const void* ours, const void* eager,
                         int64_t numel) {
  CheckLine line;
  line.output = name;
  for (int64_t i = 0; i < numel; ++i) {
    const double value = read_element(dtype, eager, i);
    line.max_absolute =
        std::fmax(line.max_absolute, difference(read_element(dtype, ours, i), value));
    if (std::isfinite(value)) line.max_value = std::fmax(line.max_value, std::fabs(value));
  }
  line.ok = line.relative() <= kCheckTolerance;
  return line;
}

Outcome<std::vector<CheckLine>> check_bundle(const std::string& path, const Trace& trace) {
  auto program = Program::open(path.c_str(), default_ops());
  if (!program.ok()) return program.status();
  const Method method = program->method(size_t{0});
  SessionOptions options;
  options.backend = cpu_backend();
  auto session = Session::create(method, options);
  if (!session.ok()) return session.status();
  LAZYRT_TRY(set_inputs(trace, &*session));
  const Status ran = session->run();
  if (!ran.ok()) return ran;
  return compare(trace, method, *session);
}

}  // namespace lazyrt
