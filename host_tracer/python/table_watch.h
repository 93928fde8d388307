#pragma once

#include <pybind11/pybind11.h>

namespace lazyrt {

/// Adds the class TableWatch to a module: says which of many dicts, lists and sets have changed,
/// in microseconds where none has.
///
/// TableWatch(tables) copies them.
/// changed()  the indices of those that are not as at the last call, or at the beginning; their
///            copies are made anew. An item is as it was if it is the same object or equal; where
///            asking raises, it is not.
/// copies     of all of them, as they were at that call
void define_table_watch(pybind11::module_& module);

}  // namespace lazyrt
