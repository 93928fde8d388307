#include "host_tracer/python/python_source.h"

#include <frameobject.h>

#include <algorithm>

namespace py = pybind11;

namespace lazyrt {

PythonSources::~PythonSources() {
  for (const auto& [code, place] : places_) Py_DECREF(code);
}

const PythonSources::Place& PythonSources::place_of(PyCodeObject* code) {
  auto [it, is_new] = places_.try_emplace(code);
  if (!is_new) return it->second;
  Py_INCREF(code);
  Place& place = it->second;
  if (const char* file = PyUnicode_AsUTF8(code->co_filename)) place.file = file;
  PyErr_Clear();
  const auto is_inside = [&place](const std::string& folder) {
    return place.file.compare(0, folder.size(), folder) == 0;
  };
  place.user = !place.file.empty() && place.file[0] != '<' &&
               std::none_of(internal_.begin(), internal_.end(), is_inside);
  return place;
}

Source PythonSources::current() {
  const py::gil_scoped_acquire gil;
  Source source;
  if (!modules_.empty()) source.module_path = modules_.back();
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    const Place& place = place_of(code);
    Py_DECREF(code);
    if (place.user) {
      source.file = place.file;
      source.line = PyFrame_GetLineNumber(raw);
      break;
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return source;
}

}  // namespace lazyrt
