#include "host_tracer/python/table_watch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lazyrt {
namespace {

namespace py = pybind11;

/// Another number after each change of a dict; 0 where Python keeps none, as for other containers.
std::uint64_t version_of(const PyObject* table) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyDict_Check(table)) return reinterpret_cast<const PyDictObject*>(table)->ma_version_tag;
#endif
  (void)table;
  return 0;
}

py::object copy_of(const py::handle& table) { return table.attr("copy")(); }

constexpr int kMostNested = 8;

bool is_plain(const PyObject* value) {
  return PyLong_Check(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
         PyBytes_CheckExact(value) || PyComplex_CheckExact(value);
}

bool equal(PyObject* a, PyObject* b) {
  const int found = PyObject_RichCompareBool(a, b, Py_EQ);
  if (found < 0) PyErr_Clear();
  return found > 0;
}

bool alike(PyObject* a, PyObject* b, int nested);

bool alike_items(PyObject* a, PyObject* b, int nested) {
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(a);
  if (size != PySequence_Fast_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!alike(PySequence_Fast_GET_ITEM(a, i), PySequence_Fast_GET_ITEM(b, i), nested))
      return false;
  }
  return true;
}

/// In the same order.
bool alike_dicts(PyObject* a, PyObject* b, int nested) {
  if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return false;
  Py_ssize_t at = 0, beside = 0;
  PyObject *key = nullptr, *value = nullptr, *other_key = nullptr, *other = nullptr;
  while (PyDict_Next(a, &at, &key, &value) && PyDict_Next(b, &beside, &other_key, &other)) {
    if (!alike(key, other_key, nested) || !alike(value, other, nested)) return false;
  }
  return true;
}

/// Whether two values are one, or plain values or containers of such that are equal. Asks nothing
/// of objects that may be tensors, or count how often they are asked.
bool alike(PyObject* a, PyObject* b, int nested) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b) || nested == kMostNested) return false;
  if (is_plain(a)) return equal(a, b);
  if (PyTuple_CheckExact(a) || PyList_Check(a)) return alike_items(a, b, nested + 1);
  if (PyDict_Check(a)) return alike_dicts(a, b, nested + 1);
  return PyAnySet_Check(a) && equal(a, b);  // items that are one are not asked
}

class TableWatch {
 public:
  explicit TableWatch(const py::list& tables) {
    watched_.reserve(tables.size());
    for (const py::handle table : tables) {
      watched_.push_back({py::reinterpret_borrow<py::object>(table), version_of(table.ptr())});
      copies_.append(copy_of(table));
    }
  }

  py::list changed() {
    py::list found;
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      const std::uint64_t version = version_of(watched_[i].table.ptr());
      if (version != 0 && version == watched_[i].version) continue;
      watched_[i].version = version;
      const py::object copy = copies_[i];
      if (alike(watched_[i].table.ptr(), copy.ptr(), 0)) continue;
      copies_[i] = copy_of(watched_[i].table);
      found.append(i);
    }
    return found;
  }

  py::list copies() const { return copies_; }

 private:
  struct Watched {
    py::object table;
    std::uint64_t version;
  };

  std::vector<Watched> watched_;
  py::list copies_;
};

}  // namespace

void define_table_watch(py::module_& module) {
  module.def("alike",
             [](const py::object& a, const py::object& b) { return alike(a.ptr(), b.ptr(), 0); });
  py::class_<TableWatch>(module, "TableWatch")
      .def(py::init<py::list>(), py::arg("tables"))
      .def("changed", &TableWatch::changed)
      .def_property_readonly("copies", &TableWatch::copies);
}

}  // namespace lazyrt
