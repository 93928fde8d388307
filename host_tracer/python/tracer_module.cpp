// lazyrt._tracer: capture and export for lazyrt/driver. Linked with LibTorch; torch has to be
// imported before it.

#include <ATen/ATen.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/check/compare_text.h"
#include "host_tracer/compile/sized_traces.h"
#include "host_tracer/export/publish.h"
#include "host_tracer/python/backends.h"
#include "host_tracer/python/errors.h"
#include "host_tracer/python/python_source.h"
#include "host_tracer/python/trace_binding.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/record/trace_phases.h"
#include "host_tracer/trace/allow.h"

namespace py = pybind11;

namespace lazyrt {
namespace {

using Named = std::vector<std::pair<std::string, at::Tensor>>;

std::vector<NamedTensor> named_tensors(const Named& list) {
  std::vector<NamedTensor> result;
  for (const auto& [name, tensor] : list) result.push_back({name, tensor});
  return result;
}

/// The arguments of capture_checked, as driver/capture.py sets them.
struct PyRequest {
  Named inputs, parameters, buffers;
  py::object program;  ///< list of lazy tensors -> list of tensors and numbers
  // See CaptureRequest. Each takes the interpreter's lock itself.
  std::function<void()> before_trace;
  std::function<std::string(bool)> check_of;
  std::function<bool()> is_caught;
  std::shared_ptr<PythonSources> sources;
  bool second_trace = true;
  std::vector<std::string> allow;
  std::vector<std::string> varying;  ///< see CaptureRequest
  std::vector<std::string> held;
};

/// A result of the program as capture takes it: a tensor, or a number wrapped as one.
at::Tensor to_output(py::handle value) {
  const auto wrapped = [](const at::Scalar& number) {
    at::Tensor tensor = at::scalar_tensor(number, at::TensorOptions().dtype(number.type()));
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
  };
  if (py::isinstance<py::bool_>(value)) return wrapped(value.cast<bool>());
  if (py::isinstance<py::int_>(value)) return wrapped(value.cast<int64_t>());
  if (py::isinstance<py::float_>(value)) return wrapped(value.cast<double>());
  return value.cast<at::Tensor>();
}

/// Whether the node that accumulates this tensor's gradient has hooks.
bool accumulator_has_hooks(const at::Tensor& tensor) {
  const auto node = torch::autograd::impl::try_get_grad_accumulator(tensor);
  return node && (!node->pre_hooks().empty() || !node->post_hooks().empty());
}

/// Calls back into Python from the capturing thread, which runs without the GIL.
std::vector<at::Tensor> call_program(const PyRequest& request,
                                     const std::vector<at::Tensor>& inputs) {
  const py::gil_scoped_acquire gil;
  request.sources->clear_modules();
  std::vector<at::Tensor> outputs;
  for (const py::handle value : request.program(inputs)) outputs.push_back(to_output(value));
  return outputs;
}

Trace capture_python(const PyRequest& py_request) {
  CaptureRequest request;
  request.inputs = named_tensors(py_request.inputs);
  request.parameters = named_tensors(py_request.parameters);
  request.buffers = named_tensors(py_request.buffers);
  request.varying = py_request.varying;
  request.held = py_request.held;
  request.source_of = [&] { return py_request.sources->current(); };
  request.before_trace = py_request.before_trace;
  request.check_of = py_request.check_of;
  request.is_caught = py_request.is_caught;
  std::exception_ptr thrown;
  request.thrown = &thrown;
  CheckOptions options;
  options.second_trace = py_request.second_trace;
  options.allow = py_request.allow;
  const CaptureProgram program = [&](const std::vector<at::Tensor>& inputs) {
    return call_program(py_request, inputs);
  };
  const auto run = [&] {
    const py::gil_scoped_release no_gil;  // another thread's capture may have to end first
    return capture_checked(request, program, options);
  };
  Outcome<Trace> trace = run();
  if (trace.ok()) return std::move(*trace);
  if (thrown) std::rethrow_exception(thrown);
  throw PythonError(trace.failure());
}

// ------------------------------------------------------------ export

CheckLevel check_level(const std::string& name) {
  CheckLevel level = CheckLevel::kFull;
  if (!parse_check_level(name, &level)) throw py::value_error("no level is called '" + name + "'");
  return level;
}

void check_allow(const std::vector<std::string>& texts) {
  if (auto known = parse_allowances(texts); !known.ok()) throw PythonError(known.failure());
}

std::vector<std::string> idle(const std::vector<std::string>& texts,
                              const std::vector<std::shared_ptr<Trace>>& traces) {
  std::vector<Finding> findings;
  for (const auto& trace : traces) {
    findings.insert(findings.end(), trace->findings.begin(), trace->findings.end());
  }
  return idle_allowances(texts, findings);
}

using Progress = std::function<void(const std::string&, int64_t, int64_t)>;

/// Calls the user's callback; throws what it raises, and KeyboardInterrupt.
Progress progress_of(const py::object& callback) {
  return [callback](const std::string& stage, int64_t done, int64_t total) {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback.is_none()) callback(stage, done, total);
  };
}

/// An export as driver/exporting.py asks for it.
struct PyExport {
  ExportJob job;
  std::string model;         ///< its name in the report
  double trace_seconds = 0;  ///< that the captures took
};

PyExport make_export(const std::string& path, const std::string& model,
                     const std::string& report_path,
                     std::vector<std::pair<std::string, std::string>> info,
                     const std::string& check, bool keep_samples, double trace_seconds,
                     std::function<void(const std::string&)> checked,
                     std::function<std::pair<size_t, size_t>()> counts) {
  PyExport made{{}, model, trace_seconds};
  ExportJob& job = made.job;
  job.path = path;
  job.report_path = report_path;
  job.compile.emit.producer = "lazyrt (Python) " LAZYRT_VERSION;
  job.compile.emit.strip_samples = !keep_samples;
  job.compile.emit.info = std::move(info);
  job.check.level = check_level(check);
  job.unchecked = "check=\"none\"";
  job.advice =
      "either the program does something that the capture cannot see, or this is a bug in LazyRT";
  job.checked = std::move(checked);
  job.counts = std::move(counts);
  return made;
}

/// (text of the summary, the same as JSON)
std::pair<std::string, std::string> export_python(const std::vector<std::shared_ptr<Trace>>& given,
                                                  PyExport asked, const py::object& progress) {
  std::vector<Trace> traces;
  for (const auto& trace : given) traces.push_back(*trace);
  ExportSummary summary;
  summary.model = asked.model;
  summary.seconds.trace = asked.trace_seconds;
  describe_traces(traces, &summary);
  ExportJob& job = asked.job;
  job.compile.progress = job.check.progress = progress_of(progress);
  const auto run = [&] {
    const py::gil_scoped_release no_gil;
    return publish_export(&traces, job, std::move(summary));
  };
  const Outcome<PublishedExport> done = run();
  if (!done.ok()) throw PythonError(done.failure());
  constexpr auto kRepair = nlohmann::ordered_json::error_handler_t::replace;
  return {summary_text(done->summary), summary_json(done->summary).dump(2, ' ', false, kRepair)};
}

/// (the verdict, the table, all as JSON)
py::tuple compare_python(const std::string& path, const Trace& trace, const std::string& backend,
                         int threads, double relative, const py::object& progress) {
  CompareOptions options;
  options.backend = named_backend(backend);
  options.threads = threads;
  options.relative = relative;
  options.progress = progress_of(progress);
  const auto run = [&]() -> Outcome<NodeComparison> {
    const py::gil_scoped_release no_gil;
    const auto bundle = LoadedBundle::open(path);
    if (!bundle.ok()) return bundle.failure();
    return compare_nodes(**bundle, trace, options);
  };
  const auto found = run();
  if (!found.ok()) throw PythonError(found.failure());
  constexpr auto kRepair = nlohmann::ordered_json::error_handler_t::replace;
  return py::make_tuple(compare_verdict(*found), compare_table(*found),
                        compare_json(*found).dump(-1, ' ', false, kRepair));
}

/// `dims`: (symbol, factor, offset) by input and dim, the symbol -1 where the extent is fixed;
/// `capture_at(point, compared)` returns a trace.
void set_dynamic(PyExport& asked, const std::vector<DimSymbol>& symbols,
                 const std::vector<std::vector<std::tuple<int, int64_t, int64_t>>>& dims,
                 const SizePoint& sample, const std::vector<SizePoint>& points,
                 const py::object& capture_at) {
  const auto held = held_object(capture_at);
  const auto capture = [held](const SizePoint& point, bool compared) -> Outcome<Trace> {
    const py::gil_scoped_acquire gil;
    return *(*held)(point, compared).cast<std::shared_ptr<Trace>>();
  };
  DynamicShapes shapes = {symbols, {}};
  for (const auto& of_input : dims) {
    auto& extents = shapes.dims.emplace_back();
    for (const auto& [symbol, factor, offset] : of_input)
      extents.emplace_back(symbol, factor, offset);
  }
  asked.job.compile.dynamic = DynamicExport{std::move(shapes), sample, points, capture};
}

void bind_sizes(py::module_& m) {
  py::class_<DimSymbol>(m, "DimSymbol")
      .def(py::init<std::string, int64_t, int64_t, int64_t>(), py::arg("name"), py::arg("min"),
           py::arg("max"), py::arg("multiple"));
  m.def("fit_points", &fit_points, py::arg("symbols"));
  m.def("check_points", &check_points, py::arg("symbols"), py::arg("count"), py::arg("seed"));
  m.def(
      "note_untried",
      [](Trace& trace, const std::vector<DimSymbol>& symbols, const std::vector<SizePoint>& tried) {
        note_untried({symbols, {}}, tried, &trace);
      },
      py::arg("trace"), py::arg("symbols"), py::arg("tried"));
}

/// For what a program keeps between its calls outside of buffers: lazyrt/state/calls.py.
void bind_phases(py::module_& m) {
  m.def("add_state", &add_state, "A lazy tensor that is state; inside a capture only.");
  m.def("is_dynamic", &is_dynamic);
  m.def("accumulator_has_hooks", &accumulator_has_hooks);
  m.def("sample_of", &sample_of);
  m.def("was_written", &was_written);
  m.def("memory_of",
        [](const at::Tensor& lazy) { return reinterpret_cast<uintptr_t>(memory_of(lazy)); });
  m.def("writes_into", &writes_into);
  m.def("overlaps_itself", &overlaps_itself);
  m.def("drop_unread_states", [](const std::vector<std::shared_ptr<Trace>>& traces,
                                 const std::vector<std::string>& names) {
    std::vector<Trace*> all;
    for (const auto& trace : traces) all.push_back(trace.get());
    return drop_unread_states(all, names);
  });
  m.def("compute_the_same", &compute_the_same);
}

void bind_export(py::module_& m) {
  py::class_<PyExport>(m, "Export")
      .def(py::init(&make_export), py::kw_only(), py::arg("path"), py::arg("model"),
           py::arg("report_path"), py::arg("info"), py::arg("check"), py::arg("keep_samples"),
           py::arg("trace_seconds"), py::arg("checked"), py::arg("counts"))
      .def("set_dynamic", &set_dynamic, py::arg("symbols"), py::arg("dims"), py::arg("sample"),
           py::arg("points"), py::arg("capture_at"));
  m.def("compare", &compare_python, py::arg("path"), py::arg("trace"), py::arg("backend"),
        py::arg("threads"), py::arg("bound"), py::arg("progress"));
  m.def("export", &export_python, py::arg("traces"), py::arg("asked"), py::arg("progress"));
}

}  // namespace

PYBIND11_MODULE(_tracer, m) {
  m.doc() = "LazyRT's tracer; use it through lazyrt.export().";
  register_errors();
  py::class_<PythonSources, std::shared_ptr<PythonSources>>(m, "Sources")
      .def(py::init<std::vector<std::string>>())
      .def("enter_module", &PythonSources::enter_module)
      .def("leave_module", &PythonSources::leave_module)
      .def("current", [](PythonSources& self) { return source_dict(self.current()); });
  py::class_<PyRequest>(m, "Request")
      .def(py::init<>())
      .def_readwrite("inputs", &PyRequest::inputs)
      .def_readwrite("parameters", &PyRequest::parameters)
      .def_readwrite("buffers", &PyRequest::buffers)
      .def_readwrite("program", &PyRequest::program)
      .def_readwrite("before_trace", &PyRequest::before_trace)
      .def_readwrite("check_of", &PyRequest::check_of)
      .def_readwrite("is_caught", &PyRequest::is_caught)
      .def_readwrite("sources", &PyRequest::sources)
      .def_readwrite("second_trace", &PyRequest::second_trace)
      .def_readwrite("allow", &PyRequest::allow)
      .def_readwrite("varying", &PyRequest::varying)
      .def_readwrite("held", &PyRequest::held);
  m.def("capture", &capture_python);
  m.def("check_allow", &check_allow, "Raises what is wrong with the entries of `allow`.");
  m.def("idle_allowances", &idle, "A line for each entry of `allow` that let nothing through.");
  m.def("lift", &lift, "The lazy tensor of a CPU tensor; inside a capture only.");
  m.def("peek", &peek, "The value of a lazy tensor on the CPU, for people only: no guard.");
  m.def("require", &require, "A check: a run is refused where the condition is false.");
  bind_trace(m);
  bind_sizes(m);
  bind_phases(m);
  bind_export(m);
}

}  // namespace lazyrt
