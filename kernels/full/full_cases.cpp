#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(const std::string& name, std::vector<int64_t> shape, DType dtype, double real,
            int64_t integer, std::vector<double> expected) {
  fb::FullT t;
  t.dtype = static_cast<fb::DType>(dtype);
  t.shape = std::move(shape);
  t.real = real, t.integer = integer;
  return {name, case_attrs(t), {}, 1e-6, false, std::move(expected)};
}

}  // namespace

CaseList full_cases() {
  return {
      make("number", {}, DType::kFloat32, 0.125, 7, {0.125}),
      make("matrix", {2, 3}, DType::kFloat32, -2, 7, {-2, -2, -2, -2, -2, -2}),
      make("empty", {0, 3}, DType::kFloat32, 1, 1, {}),
      make("double", {2}, DType::kFloat64, 0.1, 7, {0.1, 0.1}),
      make("half", {2}, DType::kFloat16, 0.5, 7, {0.5, 0.5}),
      make("i64", {2}, DType::kInt64, 0.5, -9, {-9, -9}),
      make("u8", {1}, DType::kUInt8, 0.5, 255, {255}),
      make("bool", {3}, DType::kBool, 0, 5, {1, 1, 1}),
  };
}

}  // namespace lazyrt
