#include "host_tracer/cli/input_spec.h"

#include <charconv>

#include "host_tracer/cli/npy.h"
#include "lazyrt/shape.h"

namespace lazyrt {
namespace {

/// Most bytes of an input given as SHAPE:DTYPE.
constexpr int64_t kMaxInputBytes = int64_t{1} << 32;

Failure bad(const std::string& text, const std::string& what) {
  return {Error::kInvalidArgument, "--input " + text + ": " + what};
}

DType dtype_named(const std::string& name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return DType::kNone;
}

bool parse_extents(const std::string& text, std::vector<int64_t>* shape) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0 || shape->size() == kMaxRank) return false;
    shape->push_back(extent);
    at = next;
    if (at == end) break;
    if ((*at != ',' && *at != 'x') || at + 1 == end) return false;
    ++at;
  }
  return true;
}

/// Fills dtype and shape from SHAPE:DTYPE.
Outcome<Done> parse_shape_dtype(const std::string& text, size_t colon, Pt2Input* input) {
  const std::string dtype = text.substr(colon + 1);
  input->dtype = dtype_named(dtype);
  if (input->dtype == DType::kNone) {
    return bad(text, "no dtype '" + dtype + "'; there are f32 f64 f16 bf16 i8 u8 i16 i32 i64 bool");
  }
  int64_t numel = 0;
  if (!parse_extents(text.substr(0, colon), &input->shape) ||
      !Shape(input->shape).checked_numel(&numel)) {
    return bad(text, "not a shape; write it as 1,3,224,224:f32");
  }
  if (numel > kMaxInputBytes / static_cast<int64_t>(dtype_size(input->dtype))) {
    return bad(text, "more than 4 GiB");
  }
  return Done{};
}

Outcome<Done> read_file(const std::string& path, Pt2Input* input) {
  auto tensor = read_npy(path);
  if (!tensor.ok()) return tensor.failure();
  input->dtype = tensor->dtype;
  input->shape = tensor->shape;
  input->data = tensor->data;
  return Done{};
}

bool ends_with_npy(const std::string& text) {
  return text.size() >= 4 && text.compare(text.size() - 4, 4, ".npy") == 0;
}

}  // namespace

Outcome<Pt2Input> parse_input_spec(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return bad(text, "write NAME=FILE.npy or NAME=SHAPE:DTYPE");
  }
  Pt2Input input;
  input.name = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  const size_t colon = value.rfind(':');
  const bool is_file = ends_with_npy(value);
  if (!is_file && colon == std::string::npos) {
    return bad(text, "neither a .npy file nor SHAPE:DTYPE (such as 1,3,224,224:f32)");
  }
  LAZYRT_TRY(is_file ? read_file(value, &input) : parse_shape_dtype(value, colon, &input));
  return input;
}

Outcome<std::vector<Pt2Input>> parse_input_specs(const std::vector<std::string>& texts) {
  std::vector<Pt2Input> inputs;
  for (const std::string& text : texts) {
    auto input = parse_input_spec(text);
    if (!input.ok()) return input.failure();
    for (const Pt2Input& other : inputs) {
      if (other.name == input->name) return bad(text, "'" + other.name + "' is given twice");
    }
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

}  // namespace lazyrt
