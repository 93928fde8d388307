#pragma once

#include <pybind11/pybind11.h>

namespace lazyrt {

/// Adds TableWatch and alike to a module. TableWatch says which of many dicts, lists and sets have
/// changed, in microseconds where none has.
///
/// TableWatch(tables) copies them.
/// changed()    the indices of those that are not as at the last call, or at the beginning; their
///              copies are made anew
/// copies       of all of them, as they were at that call
///
/// alike(a, b)  whether two values are one object, or equal plain values, or containers of such in
///              the same order; what may be a tensor is not compared
void define_table_watch(pybind11::module_& module);

}  // namespace lazyrt
