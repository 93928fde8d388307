#include "host_tracer/record/seen_text.h"

#include <ATen/ATen.h>

#include "host_tracer/record/capture.h"
#include "host_tracer/support/decimal_text.h"

namespace lazyrt {

std::string number_text(double value) { return decimal_text(value, 6); }

std::string scalar_text(const at::Tensor& one) {
  const SeenNumber number = seen_number(one);
  if (const auto* v = std::get_if<bool>(&number)) return *v ? "True" : "False";
  if (const auto* v = std::get_if<int64_t>(&number)) return std::to_string(*v);
  return number_text(std::get<double>(number));
}

std::string seen_text(const at::Tensor& t) {
  if (t.dim() == 0) return scalar_text(t);
  std::string text = dtype_name(to_dtype(t.scalar_type()));
  text += "[";
  for (int64_t d = 0; d < t.dim(); ++d) text += (d ? "," : "") + std::to_string(t.size(d));
  return text + "]";
}

std::string values_text(const at::Tensor& t) {
  if (t.dim() != 1 || t.numel() > 8) return seen_text(t);
  std::string text = "[";
  for (int64_t i = 0; i < t.numel(); ++i) text += (i ? ", " : "") + scalar_text(t[i]);
  return text + "]";
}

SeenNumber seen_number(const at::Tensor& one) {
  if (one.scalar_type() == at::kBool) return one.item<bool>();
  if (at::isFloatingType(one.scalar_type())) return one.item<double>();
  return one.item<int64_t>();
}

}  // namespace lazyrt
