#pragma once

// Small things that several passes need.

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "flatbuffers/flatbuffers.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// An attribute vector; empty when absent.
template <class T>
std::vector<T> to_vector(const flatbuffers::Vector<T>* v) {
  return v == nullptr ? std::vector<T>() : std::vector<T>(v->begin(), v->end());
}

inline std::vector<int64_t> to_vector(const Shape& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

inline Shape to_shape(const std::vector<int64_t>& dims) { return Shape(Span<const int64_t>(dims)); }

inline Attrs reshape_attrs(const Shape& shape) {
  fb::ReshapeT t;
  t.shape = to_vector(shape);
  return Attrs::of(t);
}

inline Attrs permute_attrs(const std::vector<int32_t>& perm) {
  fb::PermuteT t;
  t.perm = perm;
  return Attrs::of(t);
}

inline std::vector<int32_t> permutation_of(const Node& permute) {
  return to_vector(permute.attrs.as<fb::Permute>().perm());
}

inline std::vector<int32_t> inverse(const std::vector<int32_t>& perm) {
  std::vector<int32_t> inv(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inv[static_cast<size_t>(perm[i])] = static_cast<int32_t>(i);
  return inv;
}

inline Shape permuted(const Shape& shape, const std::vector<int32_t>& perm) {
  Shape out;
  for (int32_t i : perm) out.append(shape[i]);
  return out;
}

/// True if the dims of extent other than 1 keep their order: then a reshape is enough.
inline bool moves_only_units(const Shape& shape, const std::vector<int32_t>& perm) {
  if (shape.numel() == 0) return true;
  int32_t last = -1;
  for (int32_t i : perm) {
    if (shape[i] == 1) continue;
    if (i < last) return false;
    last = i;
  }
  return true;
}

/// All elements of a constant. REQUIRES: kConstant.
std::vector<double> constant_elements(const Value& constant);
/// The value that all elements of a constant share; nothing if they differ or there are none.
std::optional<double> uniform_value(const Value& value);
/// A constant of these elements, converted. REQUIRES: elements.size() == shape.numel().
ValueId add_elements(Graph& graph, std::string name, DType dtype, const Shape& shape,
                     const std::vector<double>& elements);

/// conv2d, conv_transpose2d, linear: weight [O, ...] as operand 1, bias [O] as operand 2 or absent,
/// output channels last, clamped into [min, max].
bool is_weighted(fb::OpAttrs kind);
struct ClampRange {
  float min;
  float max;
};
/// REQUIRES: is_weighted(attrs.kind()).
ClampRange clamp_range(const Attrs& attrs);
Attrs with_clamp(const Attrs& attrs, ClampRange range);
/// True when the clamp does nothing.
bool is_unclamped(const Attrs& attrs);

}  // namespace lazyrt
