#pragma once

// A bundle as source code, for machines without files: an array to link into flash, and how much
// memory its methods take.

#include <string>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Whether `name` may be the name of an array: a C identifier.
bool is_array_name(const std::string& name);
inline Failure no_array_name(const std::string& name) {
  return {Error::kInvalidArgument,
          "'" + name + "' cannot be the name of a C array: use letters, digits and _"};
}

/// Writes FOLDER/NAME.c and FOLDER/NAME.h for the bundle. REQUIRES: is_array_name.
Outcome<Done> write_c_array(const std::string& bundle, const std::string& name,
                            const std::string& folder);

}  // namespace lazyrt
