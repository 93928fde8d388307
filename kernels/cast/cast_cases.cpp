#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

fb::OpAttrsUnion attrs(DType to) {
  fb::CastT t;
  t.to = static_cast<fb::DType>(to);
  return case_attrs(t);
}

}  // namespace

CaseList cast_cases() {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                              DType::kInt8,    DType::kUInt8,   DType::kInt16,   DType::kInt32,
                              DType::kInt64,   DType::kBool};
  CaseList cases;
  for (DType from : kTypes) {
    for (DType to : kTypes) {
      const bool non_negative = from == DType::kUInt8 || to == DType::kUInt8;
      const Fill fill = from == DType::kBool ? Fill::normal()
                        : non_negative       ? Fill::uniform(0, 120)
                                             : Fill::normal(0, 30);
      cases.push_back({std::string(dtype_name(from)) + "_to_" + dtype_name(to),
                       attrs(to),
                       {random_operand({3, 7}, fill, from)}});
    }
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> edges = {std::nan(""),  kInf,         -kInf, 0,    -0.0,
                                     65504,         65520,        1e-8,  6e-8, 3.0517578125e-5,
                                     1.00048828125, 1.0009765625, -2.5,  1e30};
  for (DType to : {DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kBool}) {
    cases.push_back(
        {std::string("edges_to_") + dtype_name(to), attrs(to), {value_operand({14}, edges)}});
  }
  cases.push_back({"empty", attrs(DType::kInt64), {random_operand({2, 0})}});
  cases.push_back({"scalar", attrs(DType::kInt32), {random_operand({}, Fill::normal(0, 9))}});
  cases.push_back({"truncates",
                   attrs(DType::kInt32),
                   {value_operand({4}, {1.9, -1.9, 0.5, -0.5})},
                   1e-5,
                   false,
                   {1, -1, 0, 0}});
  cases.push_back({"wraps",
                   attrs(DType::kUInt8),
                   {value_operand({3}, {256, -1, 300}, DType::kInt32)},
                   1e-5,
                   false,
                   {0, 255, 44}});
  return cases;
}

}  // namespace lazyrt
