// Samples: one tensor for each input and output, like its value, inside the samples section.

#include <cinttypes>
#include <cmath>

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

using Bindings = flatbuffers::Vector<flatbuffers::Offset<fb::Binding>>;
using Blobs = flatbuffers::Vector<flatbuffers::Offset<fb::Blob>>;

bool same_shape(const fb::Blob& blob, const Shape& shape) {
  if (count_of(blob.shape()) != shape.size()) return false;
  return shape_of(blob.shape()) == shape;
}

Fault check_blob(const MethodCheck& c, const fb::Blob& blob, const fb::Binding& binding) {
  const ValueFacts& value = c.values[static_cast<size_t>(binding.value())];
  const char* name = text_of(binding.name());
  if (!is_aligned(blob.shape())) return bad_bundle("'%.60s': its shape is not aligned", name);
  if (dtype_of(blob.dtype()) != value.spec.dtype || !same_shape(blob, value.spec.shape)) {
    return bad_bundle("'%.60s': its dtype or shape is not the value's %s%s", name,
                      dtype_name(value.spec.dtype), shape_text(value.spec.shape).text);
  }
  if (blob.bytes() != value.bytes) {
    return bad_bundle("'%.60s': %" PRIu64 " bytes instead of %" PRIu64, name, blob.bytes(),
                      value.bytes);
  }
  if (blob.offset() % kBundleAlignment != 0) {
    return bad_bundle("'%.60s': offset %" PRIu64 " is not aligned", name, blob.offset());
  }
  const uint64_t room = c.sections.samples.size();
  if (blob.offset() > room || blob.bytes() > room - blob.offset()) {
    return bad_bundle("'%.60s': it ends outside of the samples section", name);
  }
  return {};
}

Fault check_blobs(const MethodCheck& c, const Blobs* blobs, const Bindings* bindings, Word what) {
  if (count_of(blobs) != count_of(bindings)) {
    return bad_bundle("%zu %ss, the method has %zu", count_of(blobs), what, count_of(bindings));
  }
  for (uint32_t i = 0; i < count_of(blobs); ++i) {
    LAZYRT_RETURN_IF_ERROR(
        check_blob(c, *blobs->Get(i), *bindings->Get(i)).with_context("%s", what));
  }
  return {};
}

bool is_tolerance(float x) { return std::isfinite(x) && x >= 0; }

Fault check_sample(const MethodCheck& c, const fb::Sample& sample) {
  LAZYRT_RETURN_IF_ERROR(check_blobs(c, sample.inputs(), c.method.inputs(), "input"));
  LAZYRT_RETURN_IF_ERROR(check_blobs(c, sample.outputs(), c.method.outputs(), "output"));
  if (!is_tolerance(sample.absolute()) || !is_tolerance(sample.relative())) {
    return bad_bundle("its tolerance is negative or not finite");
  }
  return {};
}

}  // namespace

Fault check_samples(MethodCheck* check) {
  const MethodCheck& c = *check;
  if (c.mode == CheckMode::kBound) return {};  // they are of the sizes in the file
  for (uint32_t i = 0; i < count_of(c.method.samples()); ++i) {
    LAZYRT_RETURN_IF_ERROR(
        check_sample(c, *c.method.samples()->Get(i))
            .with_context("method '%.30s', sample %u", c.name(), static_cast<unsigned>(i)));
  }
  return {};
}

}  // namespace lazyrt
