#pragma once

#include <pybind11/pybind11.h>

namespace lazyrt {

/// Adds walk_heap and differing_nodes, the inner loops of lazyrt/heap.py, to a module.
///
/// walk_heap(groups, atoms, closed, opener_of, most_objects, most_items) goes through objects level
/// by level, from each group of roots [(name, object)] in turn, and answers
///   nodes     {id: (object, what it is beside what it refers to, [what it refers to])}
///   came      {id: id of the object through which it was reached first, or the name of a root}
///   complete  whether all was entered: a group ends after the level that passes `most_objects`.
/// Objects of the types `atoms` and the objects `closed` are not entered. Plain dicts, lists and
/// tuples of up to `most_items` are read here. Of other objects `opener_of(type)` gives what opens
/// them: None (not entered), True (an instance is its attributes and what it refers to), or a
/// function that answers None or (what it is, [what it refers to]).
///
/// differing_nodes(before, after) answers the ids under which the same object lies in both, and is
/// not what it was, or refers to something else.
void define_heap_walk(pybind11::module_& module);

}  // namespace lazyrt
