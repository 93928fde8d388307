#include <cmath>
#include <limits>

#include "kernels/binary/binary_function.h"
#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Fn = fb::BinaryFn;

fb::OpAttrsUnion attrs(Fn fn) {
  fb::BinaryT t;
  t.fn = fn;
  return case_attrs(t);
}

bool takes(Fn fn, DType dtype) { return (binary_types(binary_kind(fn)) & dtype_set(dtype)) != 0; }

/// Divisors and exponents stay clear of 0 and of overflow.
Fill right_integers(Fn fn) { return fn == Fn::Pow ? Fill::integers(0, 3) : Fill::integers(1, 9); }

void add_float_cases(Fn fn, CaseList* cases) {
  const std::string name = fb::EnumNameBinaryFn(fn);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  const auto add = [&](const char* suffix, CaseOperand a, CaseOperand b) {
    cases->push_back({name + suffix, attrs(fn), {std::move(a), std::move(b)}});
  };
  add("", random_operand({3, 5, 7}), random_operand({3, 5, 7}));
  add("_row", random_operand({4, 6, 5}), random_operand({5}));
  add("_outer", random_operand({4, 1, 5}), random_operand({3, 1}));
  add("_nhwc", random_operand({2, 3, 3, 8}), random_operand({2, 1, 1, 8}));
  add("_scalar", random_operand({13}), random_operand({}));
  add("_scalar_left", random_operand({1}), random_operand({2, 9}));
  add("_empty", random_operand({0, 3}), random_operand({1, 3}));
  add("_f64", random_operand({11}, Fill::normal(), DType::kFloat64),
      random_operand({11}, Fill::normal(), DType::kFloat64));
  add("_special", value_operand({7, 1}, {nan, kInf, -kInf, 0.0, -0.0, 2, -3}),
      value_operand({1, 7}, {nan, kInf, -kInf, 0.0, -0.0, 2, -3}));
  add("_equal", random_operand({33}, Fill::integers(-2, 2)),
      random_operand({33}, Fill::integers(-2, 2)));
}

void add_integer_cases(Fn fn, CaseList* cases) {
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8}) {
    const int64_t low = dtype == DType::kUInt8 ? 0 : -9;
    cases->push_back({std::string(fb::EnumNameBinaryFn(fn)) + "_" + dtype_name(dtype),
                      attrs(fn),
                      {random_operand({4, 7}, Fill::integers(low, 9), dtype),
                       random_operand({7}, right_integers(fn), dtype)}});
  }
  if (fn == Fn::Pow || binary_kind(fn) == BinaryKind::kBits) return;
  cases->push_back({std::string(fb::EnumNameBinaryFn(fn)) + "_signs",
                    attrs(fn),
                    {value_operand({4, 1}, {-7, 7, 6, -6}, DType::kInt32),
                     value_operand({1, 4}, {-3, 3, 2, -1}, DType::kInt32)}});
}

}  // namespace

CaseList binary_cases() {
  CaseList cases;
  for (Fn fn : fb::EnumValuesBinaryFn()) {
    if (takes(fn, DType::kFloat32)) add_float_cases(fn, &cases);
    if (takes(fn, DType::kInt64)) add_integer_cases(fn, &cases);
    if (takes(fn, DType::kBool)) {
      cases.push_back({std::string(fb::EnumNameBinaryFn(fn)) + "_bool",
                       attrs(fn),
                       {random_operand({3, 6}, Fill::normal(), DType::kBool),
                        random_operand({6}, Fill::normal(), DType::kBool)}});
    }
  }
  for (Fn fn : fb::EnumValuesBinaryFn()) {
    if (binary_kind(fn) != BinaryKind::kDivision) continue;
    cases.push_back({std::string(fb::EnumNameBinaryFn(fn)) + "_by_zero",
                     attrs(fn),
                     {value_operand({3}, {1, 2, 3}, DType::kInt64),
                      value_operand({3}, {1, 0, 3}, DType::kInt64)},
                     1e-5,
                     true});
  }
  cases.push_back({"Pow_negative_exponents",
                   attrs(Fn::Pow),
                   {value_operand({5, 1}, {0, 1, -1, 2, -3}, DType::kInt64),
                    value_operand({1, 3}, {-1, -2, 3}, DType::kInt64)},
                   1e-5,
                   false,
                   {0, 0, 0, 1, 1, 1, -1, 1, -1, 0, 0, 8, 0, 0, -27}});
  cases.push_back({"Remainder_by_hand",
                   attrs(Fn::Remainder),
                   {value_operand({4}, {7, -7, 7, -7}), value_operand({4}, {3, 3, -3, -3})},
                   1e-5,
                   false,
                   {1, 2, -2, -1}});
  cases.push_back(
      {"Add_overflow",
       attrs(Fn::Add),
       {value_operand({2}, {127, -128}, DType::kInt8), value_operand({2}, {1, -1}, DType::kInt8)},
       1e-5,
       false,
       {-128, 127}});
  return cases;
}

}  // namespace lazyrt
