// lazyrt._runtime: runs bundles from Python. Includes neither torch nor numpy: data is exchanged
// through the buffer protocol, and lazyrt/bundles/session.py makes arrays of it.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "host_tracer/python/backends.h"
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

uint64_t limit_or_default(uint64_t memory_limit) {
  return memory_limit == 0 ? kDefaultMemoryLimit : memory_limit;
}

/// The texts of a Program as Python strings. Thousands of parts of a bundle may share one text:
/// each string is made once, on first use, and together they are held to the memory limit.
class Texts {
 public:
  explicit Texts(uint64_t memory_limit) : left_(limit_or_default(memory_limit)) {}

  /// REQUIRES: `text` lives as long as the Program.
  py::object of(const char* text) {
    py::object& made = texts_[text];
    if (!made) made = make(text, std::strlen(text));
    return made;
  }

  /// "n", "2*n + 1". REQUIRES: `name` lives as long as the Program.
  py::object extent(const char* name, int64_t factor, int64_t offset) {
    if (factor == 1 && offset == 0) return of(name);
    py::object& made = extents_[{name, factor, offset}];
    if (made) return made;
    std::string text = factor == 1 ? "" : std::to_string(factor) + "*";
    text += name;
    if (offset != 0) text += (offset < 0 ? " - " : " + ") + std::to_string(std::abs(offset));
    return made = make(text.c_str(), text.size());
  }

 private:
  /// Bytes that are not UTF-8 are escaped, as in "\xff".
  py::object make(const char* text, size_t bytes) {
    py::object made = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(bytes), "backslashreplace"));
    if (!made) throw py::error_already_set();
    const uint64_t taken = static_cast<uint64_t>(PyUnicode_GET_LENGTH(made.ptr())) *
                           static_cast<uint64_t>(PyUnicode_KIND(made.ptr()));
    if (taken > left_)
      throw PythonError(Error::kOutOfMemory, "the bundle's texts take more than memory_limit");
    left_ -= taken;
    return made;
  }

  uint64_t left_;
  std::unordered_map<const void*, py::object> texts_;
  std::map<std::tuple<const void*, int64_t, int64_t>, py::object> extents_;
};

py::dict info_dict(const TensorInfo& info, Texts* texts) {
  py::dict result;
  result["name"] = texts->of(info.name);
  result["dtype"] = dtype_name(info.dtype);
  result["shape"] = py::tuple(py::cast(std::vector<int64_t>(info.shape.begin(), info.shape.end())));
  return result;
}

/// A list of info_dict(info(i)) for i from 0 to count - 1.
template <class Info>
py::list infos(size_t count, Texts* texts, const Info& info) {
  py::list list;
  for (size_t i = 0; i < count; ++i) list.append(info_dict(info(i), texts));
  return list;
}

py::object literal_value(const LiteralInfo& literal) {
  if (literal.dtype == DType::kBool) return py::bool_(literal.integer != 0);
  if (is_floating(literal.dtype)) return py::float_(literal.real);
  return py::int_(literal.integer);
}

LoadOptions load_options(uint64_t memory_limit, uint64_t work_limit, uint64_t node_work_limit,
                         bool check_data) {
  LoadOptions options;
  options.memory_limit = memory_limit;
  options.check_data = check_data;
  options.work_limit = work_limit;
  options.node_work_limit = node_work_limit;
  return options;
}

class PyProgram {
 public:
  static std::shared_ptr<PyProgram> open(const std::string& path, uint64_t memory_limit,
                                         uint64_t work_limit, uint64_t node_work_limit,
                                         bool check_data) {
    const LoadOptions options = load_options(memory_limit, work_limit, node_work_limit, check_data);
    const py::gil_scoped_release no_gil;
    return std::shared_ptr<PyProgram>(
        new PyProgram(value_or_throw(Program::open(path.c_str(), default_ops(), options)), nullptr,
                      memory_limit));
  }

  static std::shared_ptr<PyProgram> load(const py::object& bytes, uint64_t memory_limit,
                                         uint64_t work_limit, uint64_t node_work_limit,
                                         bool check_data) {
    const Bytes source(bytes, false);
    const size_t padded = (source.size() / kAlignment + 1) * kAlignment;
    Memory memory(std::aligned_alloc(kAlignment, padded), &std::free);
    if (!memory) throw PythonError(Error::kOutOfMemory, "no memory for the bundle");
    std::memcpy(memory.get(), source.data(), source.size());
    const Span<const uint8_t> span(static_cast<const uint8_t*>(memory.get()), source.size());
    const LoadOptions options = load_options(memory_limit, work_limit, node_work_limit, check_data);
    const auto program = std::shared_ptr<PyProgram>(
        new PyProgram(value_or_throw(Program::load(span, default_ops(), options)),
                      std::move(memory), memory_limit));
    program->size_ = source.size();
    return program;
  }

  /// The bundle's bytes; None if it was opened by its path.
  py::object data() const {
    if (!memory_) return py::none();
    return py::bytes(static_cast<const char*>(memory_.get()), size_);
  }

  const Program& program() const { return program_; }
  Texts* texts() { return &texts_; }

  py::list methods() {
    py::list names;
    for (size_t i = 0; i < program_.method_count(); ++i)
      names.append(texts_.of(program_.method(i).name()));
    return names;
  }

  py::list info() {
    py::list entries;
    for (size_t i = 0; i < program_.info_count(); ++i) {
      const InfoEntry entry = program_.info(i);
      entries.append(py::make_tuple(texts_.of(entry.key), texts_.of(entry.value)));
    }
    return entries;
  }

 private:
  using Memory = std::unique_ptr<void, void (*)(void*)>;
  PyProgram(Program program, Memory memory, uint64_t memory_limit)
      : memory_(std::move(memory)), program_(std::move(program)), texts_(memory_limit) {}
  PyProgram(Program program, std::nullptr_t, uint64_t memory_limit)
      : PyProgram(std::move(program), Memory(nullptr, &std::free), memory_limit) {}

  Memory memory_;  ///< outlives program_
  size_t size_ = 0;
  Program program_;
  Texts texts_;
};

/// The values that nodes computed in the last run. The runtime calls it, so it lets no exception
/// out, and does not hold the interpreter's lock.
class Taps {
 public:
  explicit Taps(std::vector<std::string> selectors)
      : selectors_(std::move(selectors)), found_(selectors_.size(), false) {
    watch_.context = this;
    watch_.wants = [](void* self, const TapPoint& point) {
      return static_cast<Taps*>(self)->wants(point);
    };
    watch_.take = [](void* self, const TapPoint& point, const TensorView& value) {
      static_cast<Taps*>(self)->take(point, value);
    };
  }
  Taps(const Taps&) = delete;
  Taps& operator=(const Taps&) = delete;

  /// nullptr: nothing is tapped.
  const Watch* watch() const { return selectors_.empty() ? nullptr : &watch_; }
  /// `room`: most bytes that the values of this run may take.
  void begin_run(uint64_t room) {
    values_.clear();
    is_short_ = false;
    room_ = room;
  }
  void check_selectors() const {
    for (size_t i = 0; i < selectors_.size(); ++i) {
      if (!found_[i])
        throw PythonError(Error::kInvalidArgument,
                          "taps: nothing in the program is called '" + selectors_[i] + "'");
    }
  }
  /// (name, dtype, shape, bytes) of each value of a variant.
  py::list values(size_t variant) const {
    if (is_short_)
      throw PythonError(Error::kOutOfMemory, "no memory within memory_limit for the tapped values");
    py::list list;
    for (const Value& value : values_) {
      if (value.variant != variant) continue;
      list.append(py::make_tuple(value.name, dtype_name(value.dtype),
                                 py::tuple(py::cast(value.shape)), py::bytes(value.bytes)));
    }
    return list;
  }

 private:
  struct Value {
    size_t variant = 0;
    std::string name;
    DType dtype = DType::kNone;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  bool wants(const TapPoint& point) {
    bool wanted = false;
    for (size_t i = 0; i < selectors_.size(); ++i) {
      if (!tap_matches(point, selectors_[i])) continue;
      found_[i] = true;
      wanted = true;
    }
    return wanted;
  }

  void take(const TapPoint& point, const TensorView& view) {
    const size_t name_bytes = tap_name(point, nullptr, 0);
    const uint64_t bytes = sizeof(Value) + name_bytes + sizeof(Shape) + view.bytes();
    is_short_ = is_short_ || bytes > room_;
    if (is_short_) return;
    room_ -= bytes;
    try {
      Value value;
      value.variant = point.variant;
      value.name.resize(name_bytes + 1);
      tap_name(point, value.name.data(), value.name.size());
      value.name.pop_back();
      value.dtype = view.dtype;
      value.shape.assign(view.shape.begin(), view.shape.end());
      value.bytes.assign(static_cast<const char*>(view.data), view.bytes());
      values_.push_back(std::move(value));
    } catch (const std::bad_alloc&) {
      is_short_ = true;
    }
  }

  const std::vector<std::string> selectors_;
  std::vector<bool> found_;
  Watch watch_;
  std::vector<Value> values_;
  uint64_t room_ = 0;
  bool is_short_ = false;
};

/// A session with its taps. session.py lets one thread in at a time, but for cancel().
class PySession {
 public:
  PySession(std::shared_ptr<PyProgram> program, const std::string& method,
            const std::string& backend, int threads, uint64_t memory_limit, uint64_t deadline,
            bool profile, std::vector<std::string> taps)
      : program_(std::move(program)),
        method_(value_or_throw(program_->program().method(method))),
        memory_limit_(limit_or_default(memory_limit)),
        taps_(std::move(taps)),
        session_(make(method_, backend, threads, memory_limit, deadline, profile, taps_.watch())) {
    taps_.check_selectors();
  }

  size_t variant_count() const { return method_.variant_count(); }

  py::list inputs(size_t variant) const {
    check_variant(variant);
    py::list list =
        infos(method_.input_count(), texts(), [&](size_t i) { return method_.input(i, variant); });
    if (method_.symbol_count() == 0) return list;
    for (size_t i = 0; i < list.size(); ++i) {
      list[i]["symbols"] = symbols_of(method_.input(i, variant).shape.rank(),
                                      [&](int dim) { return method_.input_extent(i, dim); });
    }
    return list;
  }

  py::list outputs(size_t variant) const {
    check_variant(variant);
    py::list list = infos(method_.output_count(), texts(),
                          [&](size_t i) { return method_.output(i, variant); });
    if (method_.symbol_count() == 0) return list;
    for (size_t i = 0; i < list.size(); ++i) {
      list[i]["symbols"] = symbols_of(method_.output(i, variant).shape.rank(), [&](int dim) {
        return ExtentInfo{method_.output_symbol(i, dim, variant), 1, 0};
      });
    }
    return list;
  }

  /// (name, least, most, multiple) of each extent that the caller chooses.
  py::list symbols() const {
    py::list list;
    for (size_t i = 0; i < method_.symbol_count(); ++i) {
      const SymbolInfo symbol = method_.symbol(i);
      list.append(
          py::make_tuple(texts()->of(symbol.name), symbol.min, symbol.max, symbol.multiple));
    }
    return list;
  }

  /// Shapes of the results of the last run.
  py::list output_shapes() const {
    py::list list;
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Shape shape = value_or_throw(session_.output(i)).shape;
      list.append(py::tuple(py::cast(std::vector<int64_t>(shape.begin(), shape.end()))));
    }
    return list;
  }

  py::dict literals(size_t variant) const {
    check_variant(variant);
    py::dict result;
    for (size_t i = 0; i < method_.literal_count(); ++i) {
      const LiteralInfo literal = method_.literal(i, variant);
      result[texts()->of(literal.name)] = literal_value(literal);
    }
    return result;
  }

  py::list guards(size_t variant) const {
    check_variant(variant);
    py::list list;
    for (size_t i = 0; i < method_.guard_count(variant); ++i) {
      list.append(guard_dict(method_.guard(i, variant)));
    }
    return list;
  }

  py::list states() const {
    return infos(method_.state_count(), texts(), [&](size_t i) { return method_.state(i); });
  }

  /// Runs with one (bytes, shape) for each input; returns the variant that ran.
  size_t run(const py::list& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto [data, dims] = inputs[i].cast<std::pair<py::object, std::vector<int64_t>>>();
      set_input(i, Bytes(data, false), dims);
    }
    {
      const py::gil_scoped_release no_gil;
      taps_.begin_run(memory_limit_ - std::min(memory_limit_, session_.stats().total_bytes));
      check(session_.run());
    }
    return value_or_throw(session_.variant());
  }

  /// May be called from any thread: a run does not hold the interpreter's lock.
  void cancel() { session_.cancel(); }

  /// Copies the results of the last run into writable buffers of their sizes.
  void copy_outputs(const py::list& outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      copy(value_or_throw(session_.output(i)), Bytes(outputs[i], true));
    }
  }

  void copy_state(size_t i, const py::object& target) const {
    if (i >= method_.state_count()) throw PythonError(Error::kNotFound, "there is no such state");
    copy(value_or_throw(session_.state(i)), Bytes(target, true));
  }

  /// The next run reads `source`, the content that copy_state gave.
  void set_state(size_t i, const py::object& source) {
    if (i >= method_.state_count()) throw PythonError(Error::kNotFound, "there is no such state");
    const Bytes bytes(source, false);
    TensorView view = value_or_throw(session_.state(i));
    if (view.bytes() != bytes.size()) {
      throw PythonError(Error::kInvalidArgument, "a state's content is of the wrong size");
    }
    view.data = bytes.data();
    check(session_.set_state(i, view));
  }

  void reset_state() { check(session_.reset_state()); }

  /// What was tapped in the last run.
  py::list taps() const { return taps_.values(value_or_throw(session_.variant())); }

  py::dict stats() const {
    const SessionStats stats = session_.stats();
    py::dict result;
    result["arena_bytes"] = stats.arena_bytes;
    result["workspace_bytes"] = stats.workspace_bytes;
    result["packed_weight_bytes"] = stats.packed_weight_bytes;
    result["state_bytes"] = stats.state_bytes;
    result["plan_bytes"] = stats.plan_bytes;
    result["device_bytes"] = stats.device_bytes;
    result["copies"] = copies();
    result["total_bytes"] = stats.total_bytes;
    result["guard_refusals"] = guard_refusals();
    return result;
  }

  py::list nodes() const {
    py::list list;
    for (size_t i = 0; i < session_.node_count(); ++i)
      list.append(node_dict(value_or_throw(session_.node(i))));
    return list;
  }

 private:
  static Session make(const Method& method, const std::string& backend, int threads,
                      uint64_t memory_limit, uint64_t deadline, bool profile, const Watch* watch) {
    SessionOptions options;
    options.watch = watch;
    options.backend = named_backend(backend);
    options.threads = threads;
    options.memory_limit = memory_limit;
    options.deadline_nanoseconds = deadline;
    options.profile = profile;
    const py::gil_scoped_release no_gil;
    return value_or_throw(Session::create(method, options));
  }

  Texts* texts() const { return program_->texts(); }
  py::object extent_text(const ExtentInfo& extent) const {
    const char* name = method_.symbol(static_cast<size_t>(extent.symbol)).name;
    return texts()->extent(name, extent.factor, extent.offset);
  }

  /// The expression of a symbol ("2*n + 1") for each dim, or None where it is fixed.
  template <class ExtentOf>
  py::tuple symbols_of(int rank, const ExtentOf& extent_of) const {
    py::tuple names(static_cast<size_t>(rank));
    for (int dim = 0; dim < rank; ++dim) {
      const ExtentInfo extent = extent_of(dim);
      names[static_cast<size_t>(dim)] =
          extent.symbol < 0 ? py::object(py::none()) : extent_text(extent);
    }
    return names;
  }

  void check_variant(size_t variant) const {
    if (variant >= method_.variant_count()) {
      throw PythonError(Error::kNotFound, "there is no such variant");
    }
  }

  void set_input(size_t i, const Bytes& bytes, const std::vector<int64_t>& dims) {
    if (i >= method_.input_count() || dims.size() > static_cast<size_t>(kMaxRank)) {
      throw PythonError(Error::kInvalidArgument, "no such input, or of too many dimensions");
    }
    TensorView view{bytes.data(), method_.input(i).dtype,
                    Shape(Span<const int64_t>(dims.data(), dims.size()))};
    int64_t numel = 0;
    if (!view.shape.checked_numel(&numel) || view.bytes() != bytes.size()) {
      throw PythonError(Error::kInvalidArgument,
                        "the bytes given for an input do not fit its shape");
    }
    check(session_.set_input(i, view));
  }

  static void copy(const TensorView& view, const Bytes& target) {
    if (view.bytes() != target.size()) {
      throw PythonError(Error::kInvalidArgument, "a result's buffer is of the wrong size");
    }
    if (target.size() != 0) std::memcpy(target.data(), view.data, target.size());
  }

  /// Values that a run copies between the host's memory and a device's.
  py::list copies() const {
    py::list list;
    for (size_t i = 0; i < session_.node_count(); ++i) {
      const NodeInfo node = value_or_throw(session_.node(i));
      if (!node.is_copy) continue;
      py::dict item;
      item["copy"] = texts()->of(node.op);
      item["backend"] = texts()->of(node.backend);
      item["value"] = texts()->of(node.value);
      item["bytes"] = node.copied_bytes;
      item["variant"] = node.variant;
      list.append(std::move(item));
    }
    return list;
  }

  /// The guards that have refused a run, the most frequent first.
  py::list guard_refusals() const {
    std::vector<std::pair<uint64_t, py::dict>> found;
    for (size_t v = 0; v < method_.variant_count(); ++v) {
      for (size_t i = 0; i < method_.guard_count(v); ++i) {
        const uint64_t count = session_.guard_refusals(i, v);
        if (count == 0) continue;
        py::dict item = guard_dict(method_.guard(i, v));
        item["variant"] = v;
        item["count"] = count;
        found.emplace_back(count, std::move(item));
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    py::list list;
    for (auto& [count, item] : found) list.append(std::move(item));
    return list;
  }

  py::dict guard_dict(const GuardInfo& guard) const {
    py::dict result;
    result["text"] = texts()->of(guard.text);
    result["file"] = texts()->of(guard.file);
    result["line"] = guard.line;
    result["seen"] = literal_value({"", 0, guard.dtype, guard.integer, guard.real});
    return result;
  }

  py::dict node_dict(const NodeInfo& node) const {
    py::dict result;
    result["op"] = texts()->of(node.op);
    result["backend"] = texts()->of(node.backend);
    result["fallback_reason"] = texts()->of(node.fallback_reason);
    result["aten"] = texts()->of(node.aten);
    result["module"] = texts()->of(node.module_path);
    result["file"] = texts()->of(node.file);
    result["line"] = node.line;
    result["variant"] = node.variant;
    result["nanoseconds"] = node.nanoseconds;
    result["runs"] = node.runs;
    return result;
  }

  std::shared_ptr<PyProgram> program_;
  Method method_;
  const uint64_t memory_limit_;
  Taps taps_;  ///< outlive the session
  Session session_;
};

}  // namespace

PYBIND11_MODULE(_runtime, m) {
  m.doc() = "LazyRT's runtime; use it through lazyrt.load().";
  register_errors();
  py::class_<PyProgram, std::shared_ptr<PyProgram>>(m, "Program")
      .def_static("open", &PyProgram::open, py::arg("path"), py::arg("memory_limit") = 0,
                  py::arg("work_limit") = 0, py::arg("node_work_limit") = 0,
                  py::arg("check_data") = false)
      .def_static("load", &PyProgram::load, py::arg("data"), py::arg("memory_limit") = 0,
                  py::arg("work_limit") = 0, py::arg("node_work_limit") = 0,
                  py::arg("check_data") = false)
      .def("data", &PyProgram::data)
      .def("methods", &PyProgram::methods)
      .def("info", &PyProgram::info);
  py::class_<PySession>(m, "Session")
      .def(py::init<std::shared_ptr<PyProgram>, std::string, std::string, int, uint64_t, uint64_t,
                    bool, std::vector<std::string>>(),
           py::arg("program"), py::arg("method"), py::arg("backend"), py::arg("threads"),
           py::arg("memory_limit"), py::arg("deadline_nanoseconds"), py::arg("profile"),
           py::arg("taps") = std::vector<std::string>())
      .def("variant_count", &PySession::variant_count)
      .def("inputs", &PySession::inputs, py::arg("variant"))
      .def("outputs", &PySession::outputs, py::arg("variant"))
      .def("literals", &PySession::literals, py::arg("variant"))
      .def("guards", &PySession::guards, py::arg("variant"))
      .def("states", &PySession::states)
      .def("symbols", &PySession::symbols)
      .def("output_shapes", &PySession::output_shapes)
      .def("run", &PySession::run, py::arg("inputs"))
      .def("cancel", &PySession::cancel)
      .def("copy_outputs", &PySession::copy_outputs, py::arg("outputs"))
      .def("copy_state", &PySession::copy_state, py::arg("index"), py::arg("target"))
      .def("set_state", &PySession::set_state, py::arg("index"), py::arg("source"))
      .def("reset_state", &PySession::reset_state)
      .def("taps", &PySession::taps)
      .def("stats", &PySession::stats)
      .def("nodes", &PySession::nodes);
}

}  // namespace lazyrt
