// lazyrt._runtime: bundles run from Python. Knows nothing of torch or numpy: data comes and goes
// through the buffer protocol; lazyrt/session.py makes arrays of it.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host_tracer/python/errors.h"
#include "lazyrt/runtime.h"

namespace py = pybind11;

namespace lazyrt {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw PythonError(result.status());
  return std::move(*result);
}

void check(const Status& status) {
  if (!status.ok()) throw PythonError(status);
}

/// C-contiguous bytes of a Python object.
class Bytes {
 public:
  Bytes(py::handle object, bool writable) {
    const int flags = writable ? PyBUF_WRITABLE : PyBUF_SIMPLE;
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw py::error_already_set();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

py::dict info_dict(const TensorInfo& info) {
  py::dict result;
  result["name"] = info.name;
  result["dtype"] = dtype_name(info.dtype);
  result["shape"] = py::tuple(py::cast(std::vector<int64_t>(info.shape.begin(), info.shape.end())));
  return result;
}

py::object literal_value(const LiteralInfo& literal) {
  if (literal.dtype == DType::kBool) return py::bool_(literal.integer != 0);
  if (is_floating(literal.dtype)) return py::float_(literal.real);
  return py::int_(literal.integer);
}

class PyProgram {
 public:
  static std::shared_ptr<PyProgram> open(const std::string& path, uint64_t memory_limit,
                                         bool check_data) {
    LoadOptions options{memory_limit, check_data};
    const py::gil_scoped_release no_gil;
    return std::shared_ptr<PyProgram>(new PyProgram(
        value_or_throw(Program::open(path.c_str(), default_ops(), options)), nullptr));
  }

  static std::shared_ptr<PyProgram> load(const py::object& bytes, uint64_t memory_limit,
                                         bool check_data) {
    const Bytes source(bytes, false);
    const size_t padded = (source.size() / kAlignment + 1) * kAlignment;
    Memory memory(std::aligned_alloc(kAlignment, padded), &std::free);
    if (!memory) throw PythonError(Error::kOutOfMemory, "no memory for the bundle");
    std::memcpy(memory.get(), source.data(), source.size());
    const Span<const uint8_t> span(static_cast<const uint8_t*>(memory.get()), source.size());
    LoadOptions options{memory_limit, check_data};
    return std::shared_ptr<PyProgram>(new PyProgram(
        value_or_throw(Program::load(span, default_ops(), options)), std::move(memory)));
  }

  const Program& program() const { return program_; }

  std::vector<std::string> methods() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < program_.method_count(); ++i) {
      names.emplace_back(program_.method(i).name());
    }
    return names;
  }

  std::vector<std::pair<std::string, std::string>> info() const {
    std::vector<std::pair<std::string, std::string>> entries;
    for (size_t i = 0; i < program_.info_count(); ++i) {
      entries.emplace_back(program_.info(i).key, program_.info(i).value);
    }
    return entries;
  }

 private:
  using Memory = std::unique_ptr<void, void (*)(void*)>;
  PyProgram(Program program, Memory memory)
      : memory_(std::move(memory)), program_(std::move(program)) {}
  PyProgram(Program program, std::nullptr_t)
      : PyProgram(std::move(program), Memory(nullptr, &std::free)) {}

  Memory memory_;  ///< outlives program_
  Program program_;
};

const Backend* find_backend(const std::string& name) {
  if (name == "cpu") return cpu_backend();
  if (name == "reference") return reference_backend();
  throw PythonError(Error::kInvalidArgument, "no backend '" + name + "'; there are cpu, reference");
}

class PySession {
 public:
  PySession(std::shared_ptr<PyProgram> program, const std::string& method,
            const std::string& backend, int threads, uint64_t memory_limit, bool profile)
      : program_(std::move(program)),
        method_(value_or_throw(program_->program().method(method))),
        session_(make(method_, backend, threads, memory_limit, profile)) {}

  py::list inputs() const {
    py::list list;
    for (size_t i = 0; i < method_.input_count(); ++i) list.append(info_dict(method_.input(i)));
    return list;
  }

  py::list outputs() const {
    py::list list;
    for (size_t i = 0; i < method_.output_count(); ++i) list.append(info_dict(method_.output(i)));
    return list;
  }

  py::dict literals() const {
    py::dict result;
    for (size_t i = 0; i < method_.literal_count(); ++i) {
      result[method_.literal(i).name] = literal_value(method_.literal(i));
    }
    return result;
  }

  /// Runs with the inputs' bytes; the results are copied into `outputs`, writable buffers of the
  /// outputs' sizes.
  void run(const py::list& inputs, const py::list& outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Bytes bytes(inputs[i], false);
      check(session_.set_input(i, bytes.data(), bytes.size()));
    }
    {
      const py::gil_scoped_release no_gil;
      check(session_.run());
    }
    for (size_t i = 0; i < outputs.size(); ++i) copy_output(i, Bytes(outputs[i], true));
  }

  py::dict stats() const {
    const SessionStats stats = session_.stats();
    py::dict result;
    result["arena_bytes"] = stats.arena_bytes;
    result["workspace_bytes"] = stats.workspace_bytes;
    result["packed_weight_bytes"] = stats.packed_weight_bytes;
    return result;
  }

  py::list nodes() const {
    py::list list;
    for (size_t i = 0; i < session_.node_count(); ++i) list.append(node_dict(session_.node(i)));
    return list;
  }

 private:
  static Session make(const Method& method, const std::string& backend, int threads,
                      uint64_t memory_limit, bool profile) {
    SessionOptions options;
    options.backend = find_backend(backend);
    options.threads = threads;
    options.memory_limit = memory_limit;
    options.profile = profile;
    const py::gil_scoped_release no_gil;
    return value_or_throw(Session::create(method, options));
  }

  void copy_output(size_t i, const Bytes& target) const {
    const TensorView view = value_or_throw(session_.output(i));
    if (view.bytes() != target.size()) {
      throw PythonError(Error::kInvalidArgument, "an output's buffer is of the wrong size");
    }
    if (target.size() != 0) std::memcpy(target.data(), view.data, target.size());
  }

  static py::dict node_dict(const NodeInfo& node) {
    py::dict result;
    result["op"] = node.op;
    result["backend"] = node.backend;
    result["fallback_reason"] = node.fallback_reason;
    result["aten"] = node.aten;
    result["module"] = node.module_path;
    result["file"] = node.file;
    result["line"] = node.line;
    result["nanoseconds"] = node.nanoseconds;
    result["runs"] = node.runs;
    return result;
  }

  std::shared_ptr<PyProgram> program_;
  Method method_;
  Session session_;
};

}  // namespace

PYBIND11_MODULE(_runtime, m) {
  m.doc() = "LazyRT's runtime; use it through lazyrt.load().";
  register_errors();
  py::class_<PyProgram, std::shared_ptr<PyProgram>>(m, "Program")
      .def_static("open", &PyProgram::open, py::arg("path"), py::arg("memory_limit") = 0,
                  py::arg("check_data") = false)
      .def_static("load", &PyProgram::load, py::arg("data"), py::arg("memory_limit") = 0,
                  py::arg("check_data") = false)
      .def("methods", &PyProgram::methods)
      .def("info", &PyProgram::info);
  py::class_<PySession>(m, "Session")
      .def(py::init<std::shared_ptr<PyProgram>, std::string, std::string, int, uint64_t, bool>(),
           py::arg("program"), py::arg("method"), py::arg("backend"), py::arg("threads"),
           py::arg("memory_limit"), py::arg("profile"))
      .def("inputs", &PySession::inputs)
      .def("outputs", &PySession::outputs)
      .def("literals", &PySession::literals)
      .def("run", &PySession::run, py::arg("inputs"), py::arg("outputs"))
      .def("stats", &PySession::stats)
      .def("nodes", &PySession::nodes);
}

}  // namespace lazyrt
