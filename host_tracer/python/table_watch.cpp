#include "host_tracer/python/table_watch.h"

#include <algorithm>
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
      if (is_as(watched_[i].table.ptr(), copy.ptr())) continue;
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

  static bool is_as(PyObject* table, PyObject* copy) {
    if (PyList_Check(table) && PyList_GET_SIZE(table) == PyList_GET_SIZE(copy)) {
      PyObject** const items = PySequence_Fast_ITEMS(table);
      if (std::equal(items, items + PyList_GET_SIZE(table), PySequence_Fast_ITEMS(copy)))
        return true;
    }
    const int equal = PyObject_RichCompareBool(table, copy, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
  }

  std::vector<Watched> watched_;
  py::list copies_;
};

}  // namespace

void define_table_watch(py::module_& module) {
  py::class_<TableWatch>(module, "TableWatch")
      .def(py::init<py::list>(), py::arg("tables"))
      .def("changed", &TableWatch::changed)
      .def_property_readonly("copies", &TableWatch::copies);
}

}  // namespace lazyrt
