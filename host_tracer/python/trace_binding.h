#pragma once

// lazyrt._tracer.Trace: what Python reads from a trace and adds to it.

#include <pybind11/pybind11.h>

#include <memory>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

void bind_trace(pybind11::module_& m);

/// {"module", "file", "line", "aten"}
pybind11::dict source_dict(const Source& source);

/// A reference that may be copied and released without the interpreter's lock.
std::shared_ptr<pybind11::object> held_object(const pybind11::object& object);

}  // namespace lazyrt
