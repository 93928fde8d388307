#pragma once

namespace lazyrt {

/// Registers the boxed capture kernel: as the fallback of the dispatch key Lazy, by name on every
/// ATen operator that LibTorch would otherwise decompose below it (CompositeExplicitAutograd), and
/// above autograd on the composite operators that a trace keeps whole. Call once per process.
void register_capture_kernels();

}  // namespace lazyrt
