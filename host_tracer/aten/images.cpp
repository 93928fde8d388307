#include "host_tracer/aten/images.h"

namespace lazyrt {

Image to_image(Emitter& e, ValueId x, int spatial) {
  Image image;
  image.spatial = spatial;
  const int rank = e.rank(x);
  if (rank != spatial + 1 && rank != spatial + 2) {
    e.fail(Error::kInvalidArgument,
           "the operand has shape " + std::string(shape_text(e.shape(x)).text) + ", expected " +
               (spatial == 1 ? "[N,C,L] or [C,L]" : "[N,C,H,W] or [C,H,W]"));
    return image;
  }
  image.batched = rank == spatial + 2;
  if (!image.batched) x = e.unsqueeze(x, 0);
  if (spatial == 1) x = e.unsqueeze(x, 2);
  image.nhwc = e.to_nhwc(x);
  return image;
}

ValueId from_image(Emitter& e, const Image& like, ValueId nhwc) {
  const ValueId nchw = e.to_nchw(nhwc);
  const Shape s = e.shape(nchw);
  std::vector<int64_t> dims;
  if (like.batched) dims.push_back(s[0]);
  dims.push_back(s[1]);
  if (like.spatial == 2) dims.push_back(s[2]);
  dims.push_back(s[3]);
  return e.reshape(nchw, e.make_shape(dims));
}

}  // namespace lazyrt
