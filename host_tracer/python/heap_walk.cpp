#include "host_tracer/python/heap_walk.h"

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lazyrt {
namespace {

namespace py = pybind11;

py::object number_of(const PyObject* value) {
  return py::reinterpret_steal<py::object>(PyLong_FromVoidPtr(const_cast<PyObject*>(value)));
}

/// A new reference, or the error that the call has set.
py::list owned_list(PyObject* made) {
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::list>(made);
}

/// What gc.get_referents gives, but for one object.
void add_referents(PyObject* value, const PyObject* except, PyObject* items) {
  const traverseproc traverse = Py_TYPE(value)->tp_traverse;
  if (!PyObject_IS_GC(value) || !traverse) return;
  std::pair<PyObject*, const PyObject*> found{items, except};
  const visitproc visit = [](PyObject* item, void* into) {
    auto& [list, skipped] = *static_cast<std::pair<PyObject*, const PyObject*>*>(into);
    return item == skipped ? 0 : PyList_Append(list, item);
  };
  if (traverse(value, visit, &found) != 0) throw py::error_already_set();
}

bool has_attributes(const PyTypeObject* type) {
#ifdef Py_TPFLAGS_MANAGED_DICT
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) return true;
#endif
  return type->tp_dictoffset != 0;
}

/// [its __dict__, what else it refers to]
py::list read_instance(PyObject* value) {
  py::list items;
  const PyObject* inner = nullptr;
  if (has_attributes(Py_TYPE(value))) {
    static PyObject* const name = PyUnicode_InternFromString("__dict__");
    const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetAttr(value, name));
    if (!attributes && !PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
    if (!attributes) PyErr_Clear();  // some types of C do not show it
    if (attributes && PyDict_Check(attributes.ptr())) {
      items.append(attributes);
      inner = attributes.ptr();
    }
  }
  add_referents(value, inner, items.ptr());
  return items;
}

/// Keys, and then values.
py::list read_dict(PyObject* value) {
  const Py_ssize_t count = PyDict_Size(value);
  py::list items = owned_list(PyList_New(2 * count));
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; PyDict_Next(value, &at, &key, &item) != 0; ++i) {
    Py_INCREF(key);
    Py_INCREF(item);
    PyList_SET_ITEM(items.ptr(), i, key);
    PyList_SET_ITEM(items.ptr(), count + i, item);
  }
  return items;
}

/// Whether it has a module's names, some of which are left out.
bool is_of_module(PyObject* dict) {
  static PyObject* const name = PyUnicode_InternFromString("__name__");
  const int found = PyDict_Contains(dict, name);
  if (found < 0) throw py::error_already_set();
  return found != 0;
}

struct Limits {
  size_t objects;
  Py_ssize_t items;
};

struct Opened {
  py::object own = py::none();
  py::object items;  ///< a list; null where the object is not entered
};

class Walk {
 public:
  Walk(const py::iterable& atoms, const py::iterable& closed, py::function opener_of, Limits limits)
      : opener_of_(std::move(opener_of)), limits_(limits) {
    for (const py::handle type : atoms) atoms_.insert(type.ptr());
    for (const py::handle value : closed) closed_.insert(value.ptr());
  }

  /// Whether all of it was entered.
  bool enter(const py::list& roots) {
    std::vector<PyObject*> level;
    for (const py::handle root : roots) {
      const auto pair = py::reinterpret_borrow<py::tuple>(root);
      reach(py::object(pair[1]).ptr(), pair[0], level);
    }
    while (!level.empty() && nodes_.size() < limits_.objects) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      std::vector<PyObject*> following;
      for (PyObject* value : level) {
        const Opened opened = open(value);
        if (!opened.items) continue;
        const py::object here = number_of(value);
        nodes_[here] = py::make_tuple(py::handle(value), opened.own, opened.items);
        for (const py::handle item : py::reinterpret_borrow<py::list>(opened.items))
          reach(item.ptr(), here, following);
      }
      level = std::move(following);
    }
    return level.empty();
  }

  const py::dict& nodes() const { return nodes_; }
  const py::dict& came() const { return came_; }

 private:
  struct Kind {
    py::object type, opener;  ///< the first one so that its address stays its own
  };

  /// Objects are kept by their holder's list, or by the roots.
  void reach(PyObject* value, const py::object& holder, std::vector<PyObject*>& level) {
    if (atoms_.count(reinterpret_cast<PyObject*>(Py_TYPE(value))) != 0 ||
        !reached_.insert(value).second)
      return;
    came_[number_of(value)] = holder;
    level.push_back(value);
  }

  Opened open(PyObject* value) {
    if (closed_.count(value) != 0) return {};
    try {
      if (PyList_CheckExact(value) && PyList_GET_SIZE(value) <= limits_.items) {
        return {.items = owned_list(PyList_GetSlice(value, 0, PyList_GET_SIZE(value)))};
      }
      if (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) <= limits_.items)
        return {.items = owned_list(PySequence_List(value))};
      if (PyDict_CheckExact(value) && PyDict_Size(value) <= limits_.items && !is_of_module(value))
        return {.items = read_dict(value)};
      const py::object& opener = opener_of(Py_TYPE(value));
      if (opener.is_none()) return {};
      if (opener.ptr() == Py_True) return {.items = read_instance(value)};
      const py::object answer = opener(py::handle(value));
      if (answer.is_none()) return {};
      const auto pair = answer.cast<py::tuple>();
      return {pair[0], pair[1].cast<py::list>()};
    } catch (py::error_already_set& error) {  // what does not want to be looked at
      if (!error.matches(PyExc_Exception)) throw;
    }
    py::list items;
    add_referents(value, nullptr, items.ptr());
    return {.items = items};
  }

  const py::object& opener_of(PyTypeObject* type) {
    const auto found = kinds_.find(type);
    if (found != kinds_.end()) return found->second.opener;
    const auto held = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type));
    return kinds_.emplace(type, Kind{held, opener_of_(held)}).first->second.opener;
  }

  std::unordered_set<const PyObject*> atoms_, closed_, reached_;
  std::unordered_map<const PyTypeObject*, Kind> kinds_;
  py::function opener_of_;
  Limits limits_;
  py::dict nodes_, came_;
};

/// No collection of garbage meanwhile: it would go through all that the walk makes, again and
/// again.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable() != 0) {}
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  const bool was_on_;
};

py::tuple walk_heap(const py::iterable& groups, const py::iterable& atoms,
                    const py::iterable& closed, const py::function& opener_of, size_t most_objects,
                    Py_ssize_t most_items) {
  const NoCollection no_collection;
  Walk walk(atoms, closed, opener_of, {most_objects, most_items});
  bool complete = true;
  for (const py::handle group : groups)
    complete &= walk.enter(py::reinterpret_borrow<py::list>(group));
  return py::make_tuple(walk.nodes(), walk.came(), complete);
}

bool have_same_items(const py::handle then, const py::handle now) {
  const Py_ssize_t count = PyList_GET_SIZE(now.ptr());
  if (PyList_GET_SIZE(then.ptr()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_GET_ITEM(then.ptr(), i) != PyList_GET_ITEM(now.ptr(), i)) return false;
  }
  return true;
}

py::list differing_nodes(const py::dict& before, const py::dict& after) {
  py::list found;
  for (const auto& [here, now] : after) {
    PyObject* then = PyDict_GetItemWithError(before.ptr(), here.ptr());
    if (!then) continue;
    const auto part = [](const py::handle node, Py_ssize_t i) {
      return py::handle(PyTuple_GET_ITEM(node.ptr(), i));
    };
    if (!part(then, 0).is(part(now, 0))) continue;
    if (!have_same_items(part(then, 2), part(now, 2)) || !part(then, 1).equal(part(now, 1)))
      found.append(here);
  }
  return found;
}

}  // namespace

void define_heap_walk(py::module_& module) {
  module.def("walk_heap", &walk_heap, py::arg("groups"), py::arg("atoms"), py::arg("closed"),
             py::arg("opener_of"), py::arg("most_objects"), py::arg("most_items"));
  module.def("differing_nodes", &differing_nodes, py::arg("before"), py::arg("after"));
}

}  // namespace lazyrt
