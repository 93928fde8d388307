#pragma once

// What a build leaves out: LAZYRT_PROFILE=embedded of the build sets these to 0.

#ifndef LAZYRT_DYNAMIC_SHAPES
#define LAZYRT_DYNAMIC_SHAPES 1
#endif

#ifndef LAZYRT_DEVICES
#define LAZYRT_DEVICES 1
#endif

namespace lazyrt {

/// Inputs may have other sizes than in the file if a method has symbols. Without this, such bundles
/// are refused, and there is no planner.
constexpr bool kDynamicShapes = LAZYRT_DYNAMIC_SHAPES != 0;

/// Backends may have memory and programs of their own (Backend::device).
constexpr bool kDevices = LAZYRT_DEVICES != 0;

}  // namespace lazyrt
