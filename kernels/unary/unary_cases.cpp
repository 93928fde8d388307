#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {
namespace {

using Fn = fb::UnaryFn;

struct Example {
  double alpha = 0, beta = 0;
};

Example example(Fn fn) {
  switch (fn) {
#define LAZYRT_EXAMPLE(...) \
  { __VA_ARGS__ }
#define LAZYRT_UNARY(number, Name, kind, names, example, ...) \
  case Fn::Name:                                              \
    return LAZYRT_EXAMPLE example;
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
#undef LAZYRT_EXAMPLE
  }
  return {};
}

fb::OpAttrsUnion attrs(Fn fn) {
  fb::UnaryT t;
  t.fn = fn;
  t.alpha = example(fn).alpha;
  t.beta = example(fn).beta;
  return case_attrs(t);
}

bool takes(Fn fn, DType dtype) { return (unary_types(unary_kind(fn)) & dtype_set(dtype)) != 0; }

void add_float_cases(Fn fn, CaseList* cases) {
  const std::string name = fb::EnumNameUnaryFn(fn);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  cases->push_back({name, attrs(fn), {random_operand({3, 5, 7}, Fill::normal(0, 2))}});
  cases->push_back({name + "_positive", attrs(fn), {random_operand({37}, Fill::uniform(0, 1))}});
  cases->push_back({name + "_special",
                    attrs(fn),
                    {value_operand({5, 3}, {nan, kInf, -kInf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5,
                                            -2.5, 3, -3, 10})}});
  cases->push_back(
      {name + "_f64", attrs(fn), {random_operand({11}, Fill::normal(), DType::kFloat64)}});
  cases->push_back({name + "_empty", attrs(fn), {random_operand({0, 4})}});
  cases->push_back({name + "_scalar", attrs(fn), {random_operand({})}});
}

void add_integer_cases(Fn fn, CaseList* cases) {
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8}) {
    const int64_t low = dtype == DType::kUInt8 ? 0 : -128;
    cases->push_back({std::string(fb::EnumNameUnaryFn(fn)) + "_" + dtype_name(dtype),
                      attrs(fn),
                      {random_operand({19}, Fill::integers(low, 127), dtype)}});
  }
}

}  // namespace

CaseList unary_cases() {
  CaseList cases;
  for (Fn fn : fb::EnumValuesUnaryFn()) {
    if (takes(fn, DType::kFloat32)) add_float_cases(fn, &cases);
    if (takes(fn, DType::kInt64)) add_integer_cases(fn, &cases);
    if (!takes(fn, DType::kBool)) continue;
    cases.push_back({std::string(fb::EnumNameUnaryFn(fn)) + "_bool",
                     attrs(fn),
                     {random_operand({9}, Fill::normal(), DType::kBool)}});
  }
  OpCase big = {"Gelu_big", attrs(Fn::Gelu), {random_operand({2, 33, 129})}};
  cases.push_back(big);
  cases.push_back({"Relu_by_hand",
                   attrs(Fn::Relu),
                   {value_operand({4}, {-1, 0, 2.5, -0.5})},
                   1e-5,
                   false,
                   {0, 0, 2.5, 0}});
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back({std::string("Log10_powers_of_ten_") + dtype_name(dtype),
                     attrs(Fn::Log10),
                     {value_operand({8}, {1, 10, 100, 1000, 1e6, 1e9, 1e10, 1e13}, dtype)},
                     0,
                     false,
                     {0, 1, 2, 3, 6, 9, 10, 13}});
  }
  cases.push_back({"Round_by_hand",
                   attrs(Fn::Round),
                   {value_operand({6}, {0.5, 1.5, 2.5, -0.5, -1.5, 0.4})},
                   1e-5,
                   false,
                   {0, 2, 2, 0, -2, 0}});
  return cases;
}

}  // namespace lazyrt
