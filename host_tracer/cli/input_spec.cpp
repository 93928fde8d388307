#include "host_tracer/cli/input_spec.h"

#include <algorithm>
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
Outcome<Done> parse_shape_dtype(const std::string& text, size_t colon, GivenInput* input) {
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

Outcome<Done> read_file(const std::string& path, GivenInput* input) {
  auto tensor = read_npy(path);
  if (!tensor.ok()) return tensor.failure();
  input->dtype = tensor->dtype;
  input->shape = tensor->shape;
  input->data = tensor->data;
  return Done{};
}

/// "3", "-2.5", "true", "True"; nothing for other text.
std::optional<SeenNumber> parse_number(const std::string& text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (std::from_chars(text.data(), end, whole).ptr == end) return whole;
  double real = 0;
  const auto [last, error] = std::from_chars(text.data(), end, real);
  if (error == std::errc() && last == end) return real;
  return std::nullopt;
}

/// Splits at each comma before NAME=, since shapes contain commas, too.
std::vector<std::string> split_sample(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', comma + 1)) {
    const size_t stop = text.find_first_of(",=:/", comma + 1);
    if (stop == std::string::npos || text[stop] != '=') continue;
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool ends_with_npy(const std::string& text) {
  return text.size() >= 4 && text.compare(text.size() - 4, 4, ".npy") == 0;
}

}  // namespace

Outcome<GivenInput> parse_input_spec(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return bad(text, "write NAME=FILE.npy, NAME=SHAPE:DTYPE or NAME=NUMBER");
  }
  GivenInput input;
  input.name = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  const size_t colon = value.rfind(':');
  const bool is_file = ends_with_npy(value);
  if (!value.empty()) input.number = parse_number(value);
  if (input.number) return input;
  if (!is_file && colon == std::string::npos) {
    return bad(
        text,
        "neither a .npy file, SHAPE:DTYPE (such as 1,3,224,224:f32), a number, true nor false");
  }
  LAZYRT_TRY(is_file ? read_file(value, &input) : parse_shape_dtype(value, colon, &input));
  return input;
}

Outcome<std::vector<GivenInput>> parse_input_specs(const std::vector<std::string>& texts) {
  std::vector<GivenInput> inputs;
  for (const std::string& text : texts) {
    auto input = parse_input_spec(text);
    if (!input.ok()) return input.failure();
    for (const GivenInput& other : inputs) {
      if (other.name == input->name) return bad(text, "'" + other.name + "' is given twice");
    }
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

Outcome<std::vector<GivenInput>> parse_sample_spec(const std::string& text) {
  return parse_input_specs(split_sample(text));
}

std::vector<GivenInput> override_inputs(std::vector<GivenInput> common,
                                        const std::vector<GivenInput>& sample) {
  for (const GivenInput& input : sample) {
    const auto same = std::find_if(common.begin(), common.end(), [&](const GivenInput& other) {
      return other.name == input.name;
    });
    if (same == common.end()) {
      common.push_back(input);
    } else {
      *same = input;
    }
  }
  return common;
}

}  // namespace lazyrt
