#include "host_tracer/python/trace_binding.h"

#include <ATen/ATen.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/python/errors.h"
#include "host_tracer/python/python_source.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/record/trace_phases.h"
#include "host_tracer/trace/allow.h"
#include "host_tracer/trace/eager_reference.h"
#include "host_tracer/trace/finding_ids.h"

namespace py = pybind11;

namespace lazyrt {

py::dict source_dict(const Source& source) {
  py::dict result;
  result["module"] = source.module_path;
  result["file"] = source.file;
  result["line"] = source.line;
  result["aten"] = source.aten;
  return result;
}

std::shared_ptr<py::object> held_object(const py::object& object) {
  return {new py::object(object), [](py::object* held) {
            const py::gil_scoped_acquire gil;
            delete held;
          }};
}

namespace {

py::object number(const SeenNumber& seen) {
  return std::visit([](auto value) -> py::object { return py::cast(value); }, seen);
}

void name_outputs(Trace& trace, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size() && i < trace.outputs.size(); ++i) {
    trace.outputs[i].name = names[i];
  }
}

/// Eager's results, one for each output; None for numbers.
void set_samples(Trace& trace, const std::vector<std::optional<at::Tensor>>& samples) {
  trace.sample_outputs.clear();
  for (const auto& sample : samples) {
    trace.sample_outputs.push_back(sample ? to_sample(*sample) : SampleTensor{});
  }
}

std::shared_ptr<Trace> with_inputs(const Trace& trace, const std::vector<at::Tensor>& inputs) {
  auto copy = std::make_shared<Trace>(trace);
  copy->sample_inputs.clear();
  copy->sample_outputs.clear();
  for (const at::Tensor& input : inputs) copy->sample_inputs.push_back(to_sample(input));
  return copy;
}

std::vector<std::string> asked_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const AskedConstant& asked : trace.asked) names.push_back(asked.name);
  return names;
}

/// Marks the values of these constants as known, so that no question about them remains.
void forget_asked(Trace& trace, const std::vector<std::string>& names) {
  const auto is_known = [&](const AskedConstant& asked) {
    return std::find(names.begin(), names.end(), asked.name) != names.end();
  };
  trace.asked.erase(std::remove_if(trace.asked.begin(), trace.asked.end(), is_known),
                    trace.asked.end());
}

/// Appends a result that is a number.
void add_literal(Trace& trace, const std::string& name, int64_t value) {
  TraceOutput output;
  output.name = name;
  output.literal = value;
  trace.outputs.push_back(std::move(output));
  if (!trace.sample_outputs.empty()) trace.sample_outputs.emplace_back();
}

/// One of the program's results: a tensor, a number or None.
ResultValue result_value(py::handle value) {
  if (py::isinstance<py::bool_>(value)) return {{}, value.cast<bool>()};
  if (py::isinstance<py::int_>(value)) return {{}, value.cast<int64_t>()};
  if (py::isinstance<py::float_>(value)) return {{}, value.cast<double>()};
  if (value.is_none()) return {};
  return {to_sample(value.cast<at::Tensor>()), std::nullopt};
}

std::vector<at::Tensor> tensors_of(const std::vector<SampleTensor>& samples) {
  std::vector<at::Tensor> tensors;
  for (const SampleTensor& sample : samples) tensors.push_back(from_sample(sample));
  return tensors;
}

EagerRun call_reference(const py::object& callback, const std::vector<SampleTensor>& samples,
                        bool reset) {
  const py::gil_scoped_acquire gil;
  EagerRun run;
  try {
    const py::tuple returned = callback(tensors_of(samples), reset);
    for (const py::handle value : returned[0]) run.outputs.push_back(result_value(value));
    run.other_structure = returned[1].cast<std::string>();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    run.raised = error.what();
    run.raised = run.raised.substr(0, run.raised.find("\n\nAt:"));
  }
  return run;
}

std::string explain_difference(const py::object& callback,
                               const std::vector<std::vector<SampleTensor>>& calls) {
  const py::gil_scoped_acquire gil;
  py::list tensors;
  for (const auto& samples : calls) tensors.append(tensors_of(samples));
  try {
    return callback.attr("explain")(tensors).cast<std::string>();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return "";
  }
}

/// `callback`: a checking.Reference. Called with (inputs, reset) it returns ([tensor, number or
/// None for each output], what differs in their structure or ""). `sample`: see EagerReference.
void set_reference(Trace& trace, const py::object& callback, const std::string& sample) {
  auto reference = std::make_shared<EagerReference>();
  reference->sample = sample;
  reference->shares_state = true;
  const auto held = held_object(callback);
  reference->call = [held](const std::vector<SampleTensor>& samples, bool reset) {
    return call_reference(*held, samples, reset);
  };
  const auto sources = callback.attr("sources").cast<std::shared_ptr<PythonSources>>();
  reference->source_of = [sources] { return sources->current(); };
  reference->explain = [held](const std::vector<std::vector<SampleTensor>>& calls) {
    return explain_difference(*held, calls);
  };
  reference->numbers = [held] {
    const py::gil_scoped_acquire gil;
    return held->attr("numbers")().cast<std::vector<std::vector<int64_t>>>();
  };
  trace.eager = std::move(reference);
}

Severity severity_of(const std::string& name) {
  for (const Severity s : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    if (name == severity_name(s)) return s;
  }
  throw py::value_error("no severity is called '" + name + "'");
}

void add_finding(Trace& trace, const std::string& severity, const std::string& id,
                 const std::string& message, const std::string& suggestion, const std::string& file,
                 int line) {
  Finding finding;
  finding.severity = severity_of(severity);
  finding.id = id;
  if (std::find(std::begin(kFindingIds), std::end(kFindingIds), id) == std::end(kFindingIds)) {
    throw PythonError(Error::kInternal, "no finding has the id '" + id + "': see finding_ids.h");
  }
  finding.message = message;
  finding.suggestion = suggestion;
  finding.source.file = file;
  finding.source.line = line;
  trace.findings.push_back(std::move(finding));
}

void allow(Trace& trace, const std::vector<std::string>& texts) {
  if (auto done = allow_findings(trace, texts); !done.ok()) throw PythonError(done.failure());
}

/// Makes findings of that id notes.
void forgive(Trace& trace, const std::string& id) {
  for (Finding& finding : trace.findings) {
    if (finding.id != id) continue;
    finding.severity = Severity::kNote;
    finding.allowed = false;
  }
}

py::list findings_of(const Trace& trace) {
  py::list list;
  for (const Finding& finding : trace.findings) {
    py::dict item = source_dict(finding.source);
    item["severity"] = severity_name(finding.severity);
    item["id"] = finding.id;
    item["message"] = finding.message;
    item["suggestion"] = finding.suggestion;
    item["allowed"] = finding.allowed;
    list.append(item);
  }
  return list;
}

py::list guards_of(const Trace& trace) {
  py::list list;
  for (const TraceGuard& guard : trace.guards) {
    py::dict item = source_dict(guard.source);
    item["text"] = guard.text;
    item["seen"] = number(guard.seen);
    item["check"] = guard.check;
    list.append(item);
  }
  return list;
}

py::list syncs_of(const Trace& trace) {
  py::list list;
  for (const TraceSync& sync : trace.syncs) {
    py::dict item = source_dict(sync.source);
    item["what"] = sync.what;
    item["seen"] = sync.seen;
    item["use"] = sync_use_name(sync.use);
    list.append(item);
  }
  return list;
}

std::vector<std::string> states_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceState& state : trace.states) {
    names.push_back(trace.values[static_cast<size_t>(state.leaf)].name);
  }
  return names;
}

}  // namespace

void bind_trace(py::module_& m) {
  py::class_<Trace, std::shared_ptr<Trace>>(m, "Trace")
      .def_property_readonly("findings", &findings_of)
      .def_property_readonly("guards", &guards_of)
      .def_property_readonly("syncs", &syncs_of)
      .def_property_readonly("states", &states_of)
      .def_property_readonly("nodes", [](const Trace& trace) { return trace.nodes.size(); })
      .def_property_readonly("verdict",
                             [](const Trace& trace) { return verdict_name(verdict_of(trace)); })
      .def_readwrite("notes", &Trace::notes)
      .def_readwrite("producer", &Trace::producer)
      .def("text", &Trace::text)
      .def("name_outputs", &name_outputs)
      .def("set_samples", &set_samples)
      .def("add_literal", &add_literal)
      .def("allow", &allow)
      .def("set_phase", &set_phase)
      .def("drop_known_guards", &drop_known_guards)
      .def_property_readonly("asked", &asked_of)
      .def("forget_asked", &forget_asked)
      .def("places_of_guards_on",
           [](const Trace& trace, const std::vector<std::string>& names) {
             py::list places;
             for (const Source& source : guards_on(trace, names))
               places.append(source_dict(source));
             return places;
           })
      .def("forgive", &forgive)
      .def("set_initial",
           [](Trace& trace, const std::string& name, const at::Tensor& content) {
             set_initial(trace, name, to_sample(content));
           })
      .def("set_reference", &set_reference, py::arg("callback"), py::arg("sample") = "")
      .def("with_inputs", &with_inputs, "A copy with other sample inputs.")
      .def("add_finding", &add_finding, py::arg("severity"), py::arg("id"), py::arg("message"),
           py::arg("suggestion") = "", py::arg("file") = "", py::arg("line") = 0);
}

}  // namespace lazyrt
