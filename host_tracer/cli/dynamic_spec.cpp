#include "host_tracer/cli/dynamic_spec.h"

#include <charconv>
#include <string_view>

namespace lazyrt {
namespace {

Failure bad_dim(const std::string& text, const std::string& what) {
  return {Error::kInvalidArgument, "--dynamic " + text + ": " + what};
}

constexpr char kForm[] =
    "write INPUT.DIM=NAME:MIN..MAX, as input_ids.1=seq:1..512, or x.2=height:160..288/32 for "
    "multiples of 32, or y.0=2*seq+1 for a size that follows from another one";

bool parse_whole(std::string_view text, int64_t* number) {
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && last == end;
}

/// MIN..MAX or MIN..MAX/MULTIPLE
bool parse_bounds(std::string_view text, DynamicDim* dim) {
  const size_t dots = text.find(".."), slash = text.find('/');
  if (dots == std::string_view::npos || (slash != std::string_view::npos && slash < dots)) {
    return false;
  }
  int64_t min = 0, max = 0;
  if (!parse_whole(text.substr(0, dots), &min)) return false;
  if (!parse_whole(text.substr(dots + 2, slash - dots - 2), &max)) return false;
  dim->min = min;
  dim->max = max;
  return slash == std::string_view::npos || parse_whole(text.substr(slash + 1), &dim->multiple);
}

/// NAME, 2*NAME, NAME+1, NAME-1, 2*NAME+1
bool parse_extent(std::string_view text, DynamicDim* dim) {
  if (const size_t star = text.find('*'); star != std::string_view::npos) {
    if (!parse_whole(text.substr(0, star), &dim->factor) || dim->factor < 1) return false;
    text.remove_prefix(star + 1);
  }
  const size_t sign = text.find_last_of("+-");
  const bool is_sum = sign != std::string_view::npos && text[sign] == '+';
  if (sign != std::string_view::npos &&
      parse_whole(text.substr(is_sum ? sign + 1 : sign), &dim->offset)) {
    text = text.substr(0, sign);
  } else if (is_sum) {
    return false;  // a name may have a hyphen
  }
  dim->symbol = text;
  return text.find_first_of("*+") == std::string_view::npos;
}

Outcome<Done> check_bounds(const std::string& text, const DynamicDim& dim) {
  if (!dim.max) return Done{};
  if (*dim.min < 1) return bad_dim(text, "MIN has to be at least 1");
  if (*dim.min > *dim.max) {
    return bad_dim(
        text, "MIN " + std::to_string(*dim.min) + " is more than MAX " + std::to_string(*dim.max));
  }
  if (dim.multiple < 1) return bad_dim(text, "the number after / has to be at least 1");
  return Done{};
}

}  // namespace

Outcome<DynamicDim> parse_dynamic_spec(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string place = text.substr(0, equals);
  const size_t dot = place.rfind('.');
  if (equals == std::string::npos || dot == std::string::npos || dot == 0)
    return bad_dim(text, kForm);
  DynamicDim dim;
  dim.input = place.substr(0, dot);
  if (!parse_whole(std::string_view(place).substr(dot + 1), &dim.dim)) {
    return bad_dim(text, "'" + place.substr(dot + 1) + "' is no dim; " + kForm);
  }
  const size_t colon = text.find(':', equals);
  const std::string extent =
      text.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
  if (!parse_extent(extent, &dim)) return bad_dim(text, "'" + extent + "' is no extent; " + kForm);
  if (dim.symbol.empty()) return bad_dim(text, std::string("the size has no name; ") + kForm);
  if (colon != std::string::npos && !parse_bounds(std::string_view(text).substr(colon + 1), &dim)) {
    return bad_dim(text, "'" + text.substr(colon + 1) + "' is no range; " + kForm);
  }
  LAZYRT_TRY(check_bounds(text, dim));
  return dim;
}

Outcome<std::vector<DynamicDim>> parse_dynamic_specs(const std::vector<std::string>& texts) {
  std::vector<DynamicDim> dims;
  for (const std::string& text : texts) {
    auto dim = parse_dynamic_spec(text);
    if (!dim.ok()) return dim.failure();
    dims.push_back(std::move(*dim));
  }
  return dims;
}

}  // namespace lazyrt
