#pragma once

#include <string>

#include "host_tracer/emit/bundle_writer.h"
#include "host_tracer/emit/section.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// The bundle's FlatBuffer as an object; adds the constants and samples to their sections. Fails
/// (kInternal) when the samples do not have the method's types.
Outcome<fb::BundleT> make_metadata(const std::vector<MethodVariant>& variants,
                                   const EmitOptions& options, Section* constants,
                                   Section* samples);

/// A source file as bundles name it: no folder of the machine that exported.
std::string portable_path(const std::string& file);

}  // namespace lazyrt
