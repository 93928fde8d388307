#include "host_tracer/check/result_kinds.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdio>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

std::string number_text(const SeenNumber& number) {
  char text[40];
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? "True" : "False";
  if (const auto* integer = std::get_if<int64_t>(&number)) return std::to_string(*integer);
  std::snprintf(text, sizeof text, "%.17g", std::get<double>(number));
  return text;
}

bool same_number(const SeenNumber& a, const SeenNumber& b) {
  const double* x = std::get_if<double>(&a);
  const double* y = std::get_if<double>(&b);
  return a == b || (x && y && std::isnan(*x) && std::isnan(*y));
}

}  // namespace

bool is_tensor(const ResultValue& value) {
  return !value.number && value.tensor.dtype != DType::kNone;
}

std::string type_text(const ResultValue& value) {
  if (value.number) {
    static constexpr const char* kNames[] = {"a bool", "an int", "a float"};
    return kNames[value.number->index()];
  }
  if (value.tensor.dtype == DType::kNone) return "None";
  std::string text = dtype_name(value.tensor.dtype) + std::string("[");
  for (size_t d = 0; d < value.tensor.shape.size(); ++d) {
    text += (d > 0 ? "," : "") + std::to_string(value.tensor.shape[d]);
  }
  return text + "]";
}

ResultValue in_kind_of(const ResultValue& ours, const ResultValue& eager) {
  if (!is_tensor(ours) || !eager.number) return eager;
  const double value = std::visit([](auto v) { return static_cast<double>(v); }, *eager.number);
  const SampleTensor& like = ours.tensor;
  return {to_sample(at::full(like.shape, value, to_scalar_type(like.dtype))), std::nullopt};
}

std::string other_kind(const ResultValue& ours, const ResultValue& eager) {
  if (ours.number && eager.number && ours.number->index() == eager.number->index()) {
    if (same_number(*ours.number, *eager.number)) return "";
    return "is " + number_text(*ours.number) + ", eager's " + number_text(*eager.number);
  }
  const std::string mine = type_text(ours), wanted = type_text(eager);
  return mine == wanted ? "" : "is " + mine + ", eager's " + wanted;
}

}  // namespace lazyrt
