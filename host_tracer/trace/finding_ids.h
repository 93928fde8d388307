#pragma once

// The ids that findings have. `allow` takes these; host_tracer/VERDICTS.md explains each.

#include <string_view>

namespace lazyrt {

constexpr std::string_view kFindingIds[] = {
    "baked-output",         // a number of the result depends on the inputs
    "baked-value",          // a value of the sample went into the graph
    "changing-attribute",   // state outside of tensors that a call changes and later calls read
    "data-dependent-init",  // the first call sets what later ones only read
    "gradient-mode",        // other results where gradients are recorded
    "input-written",        // the program writes into its input
    "only-written",         // what the program keeps and never reads
    "output-structure",     // how results are nested depends on values
    "parameter-written",    // the program writes into a parameter
    "random",               // the program draws random numbers
    "settled",              // the bundle is the program as it is after its first call
    "shared-memory",        // memory that is written is also part of something else
    "state",                // a buffer that the program writes
    "training-mode",        // a norm uses the statistics of the batch
    "unstable-program",     // two runs on the same values went different ways
    "untried-sizes",        // extents vary, and the program was not captured at all sizes
};

}  // namespace lazyrt
