#pragma once

// A conformance case: one op, its attributes and operands as data. Every runtime runs the same
// cases. For tests only; kernels/<folder>/<op>_cases.cpp defines `CaseList <op>_cases()`.

#include <cstdint>
#include <string>
#include <vector>

#include "lazyrt/dtype.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// How an operand is filled. Random fills are drawn from a generator whose seed the runner prints.
struct Fill {
  enum class Kind : uint8_t {
    kNormal,    ///< normal(mean a, deviation b)
    kUniform,   ///< uniform in [a, b)
    kIntegers,  ///< integers in [a, b]
    kValues,    ///< the given values, repeated
  };
  Kind kind = Kind::kNormal;
  double a = 0;
  double b = 1;
  std::vector<double> values;

  static Fill normal(double mean = 0, double deviation = 1) {
    return {Kind::kNormal, mean, deviation, {}};
  }
  static Fill uniform(double low, double high) { return {Kind::kUniform, low, high, {}}; }
  static Fill integers(int64_t low, int64_t high) {
    return {Kind::kIntegers, static_cast<double>(low), static_cast<double>(high), {}};
  }
  static Fill of(std::vector<double> values) { return {Kind::kValues, 0, 0, std::move(values)}; }
};

struct CaseOperand {
  DType dtype = DType::kFloat32;  ///< kNone: absent
  std::vector<int64_t> shape;
  Fill fill;
  bool constant = false;  ///< known before run (a weight)

  /// Whether a run is given it.
  bool is_given() const { return dtype != DType::kNone && !constant; }
};

struct OpCase {
  std::string name;  ///< unique within the op
  fb::OpAttrsUnion attrs;
  std::vector<CaseOperand> operands;
  /// Largest |a-b| allowed between two runtimes, relative to the largest |reference| value (at
  /// least 1).
  double tolerance = 1e-5;
  /// The case must be refused at run with kOutOfRange (bad index).
  bool refused_at_run = false;
  /// What output 0 must be, worked out by hand; empty: not given.
  std::vector<double> expected;
};
using CaseList = std::vector<OpCase>;

/// Builds attributes from an object-API table.
template <class TableT>
fb::OpAttrsUnion case_attrs(const TableT& table) {
  fb::OpAttrsUnion u;
  u.Set(TableT(table));
  return u;
}

/// Makes a random operand in one word, so that a case fits on one line.
inline CaseOperand random_operand(std::vector<int64_t> shape, Fill fill = Fill::normal(),
                                  DType dtype = DType::kFloat32) {
  return {dtype, std::move(shape), std::move(fill), false};
}
inline CaseOperand weight_operand(std::vector<int64_t> shape, Fill fill = Fill::normal(0, 0.5),
                                  DType dtype = DType::kFloat32) {
  return {dtype, std::move(shape), std::move(fill), true};
}
/// The values are repeated as often as the shape needs.
inline CaseOperand value_operand(std::vector<int64_t> shape, std::vector<double> values,
                                 DType dtype = DType::kFloat32) {
  return {dtype, std::move(shape), Fill::of(std::move(values)), false};
}
inline CaseOperand absent_operand() { return {DType::kNone, {}, {}, false}; }

}  // namespace lazyrt
