// Resizing of images.

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using fb::UpsampleMode;

/// The scale of one dim: an argument of its own, or in the list of the .vec overloads; 0: none.
double scale_arg(RuleContext& c, const char* name, size_t position) {
  if (c.has(name)) return c.number(name).as_double();
  const std::vector<double> list = c.doubles_or("scale_factors", {});
  return position < list.size() ? list[position] : 0;
}

template <UpsampleMode kMode, int kSpatial>
void upsample(RuleContext& c) {
  const Image x = to_image(c, c.tensor(c.has("self") ? "self" : "input"), kSpatial);
  const Shape out = c.out_shape();
  if (out.rank() < kSpatial) {
    c.fail(Error::kInternal, "its result is no image");
    return;
  }
  fb::Upsample2dT op;
  op.mode = kMode;
  op.out_h = static_cast<int32_t>(kSpatial == 1 ? 1 : out.back(1));
  op.out_w = static_cast<int32_t>(out.back(0));
  op.align_corners = c.boolean_or("align_corners", false);
  op.scale_h = kSpatial == 1 ? 0 : scale_arg(c, "scales_h", 0);
  op.scale_w = kSpatial == 1 ? scale_arg(c, "scales", 0) : scale_arg(c, "scales_w", 1);
  c.set(from_image(c, x, c.add(op, {x.nhwc})));
}

constexpr const char* kThreeDims = "is not supported: resizing in three spatial dims";
constexpr const char* kAntialias = "is not supported: antialias=True";

constexpr RuleEntry kUpsampleEntries[] = {
    {"upsample_nearest1d", upsample<UpsampleMode::Nearest, 1>},
    {"upsample_nearest2d", upsample<UpsampleMode::Nearest, 2>},
    {"_upsample_nearest_exact1d", upsample<UpsampleMode::NearestExact, 1>},
    {"_upsample_nearest_exact2d", upsample<UpsampleMode::NearestExact, 2>},
    {"upsample_linear1d", upsample<UpsampleMode::Bilinear, 1>},
    {"upsample_bilinear2d", upsample<UpsampleMode::Bilinear, 2>},
    {"upsample_bicubic2d", upsample<UpsampleMode::Bicubic, 2>},
    {"_upsample_bilinear2d_aa", nullptr, kAntialias},
    {"_upsample_bicubic2d_aa", nullptr, kAntialias},
    {"upsample_nearest3d", nullptr, kThreeDims},
    {"_upsample_nearest_exact3d", nullptr, kThreeDims},
    {"upsample_trilinear3d", nullptr, kThreeDims},
};

}  // namespace

const RuleList upsample_rules{kUpsampleEntries};

}  // namespace lazyrt
