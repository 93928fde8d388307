#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

const char* expected_form(int spatial) {
  constexpr const char* kForms[] = {"[N,C,L] or [C,L]", "[N,C,H,W] or [C,H,W]",
                                    "[N,C,D,H,W] or [C,D,H,W]"};
  return kForms[spatial - 1];
}

}  // namespace

Image to_image(Emitter& e, ValueId x, int spatial) {
  Image image;
  image.spatial = spatial;
  const int rank = e.rank(x);
  if (rank != spatial + 1 && rank != spatial + 2) {
    e.fail(Error::kInvalidArgument, "the operand has shape " +
                                        std::string(shape_text(e.shape(x)).text) + ", expected " +
                                        expected_form(spatial));
    return image;
  }
  image.batched = rank == spatial + 2;
  if (!image.batched) x = e.unsqueeze(x, 0);
  if (spatial == 1) x = e.unsqueeze(x, 2);
  image.nhwc = spatial == 3 ? e.permute(x, {0, 2, 3, 4, 1}) : e.to_nhwc(x);
  return image;
}

ValueId from_image(Emitter& e, const Image& like, ValueId nhwc) {
  const ValueId plain = like.spatial == 3 ? e.permute(nhwc, {0, 4, 1, 2, 3}) : e.to_nchw(nhwc);
  const Shape s = e.shape(plain);
  std::vector<int64_t> dims;
  if (like.batched) dims.push_back(s[0]);
  dims.push_back(s[1]);
  for (int i = like.spatial == 1 ? 3 : 2; i < s.rank(); ++i) dims.push_back(s[i]);
  return e.reshape(plain, e.make_shape(dims));
}

ValueId to_frames(Emitter& e, ValueId x) {
  return e.reshape(
      x, e.make_shape({e.dim(x, 0) * e.dim(x, 1), e.dim(x, 2), e.dim(x, 3), e.dim(x, 4)}));
}

ValueId from_frames(Emitter& e, ValueId x, int64_t n, int64_t depth) {
  return e.reshape(x, e.make_shape({n, depth, e.dim(x, 1), e.dim(x, 2), e.dim(x, 3)}));
}

}  // namespace lazyrt
