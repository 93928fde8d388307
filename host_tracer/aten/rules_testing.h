#pragma once

// What the tests of rules share: runs one call as a trace, imported and computed by the reference
// kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "host_tracer/aten/trace_builder.h"

namespace lazyrt::rules_testing {

using Args = TraceBuilder::Args;

inline constexpr DType kF32 = DType::kFloat32;
inline constexpr DType kF64 = DType::kFloat64;
inline constexpr DType kI64 = DType::kInt64;
inline constexpr DType kI32 = DType::kInt32;
inline constexpr DType kBool = DType::kBool;
inline constexpr double kInf = kInfinity;

struct Operand {
  Dims shape;
  Values values;
  DType dtype = kF32;
};

/// Runs one call: "$0", "$1" in `args` stand for the operands by position.
struct OneCall {
  std::string op;
  std::vector<Operand> operands;
  std::vector<std::pair<std::string, TraceArg>> args;
  std::vector<TypedShape> results;
};

inline RunResult run(const OneCall& call) {
  TraceBuilder b;
  std::vector<Values> inputs;
  Args args = call.args;
  for (const Operand& o : call.operands) {
    b.input(o.shape, o.dtype);
    inputs.push_back(o.values.empty() ? Values{0} : o.values);
  }
  for (TraceValueId id : b.call_multi(call.op, args, call.results)) b.output(id);
  return run(b.trace, inputs);
}

/// One float operand "self", one float result.
inline RunResult run_self(const std::string& op, const Operand& x, Args args, TypedShape result) {
  args.insert(args.begin(), {"self", t(0)});
  return run(OneCall{op, {x}, args, {result}});
}

}  // namespace lazyrt::rules_testing

/// The last result of a run, element by element.
#define EXPECT_VALUES(result, ...)                                                                \
  do {                                                                                            \
    const RunResult& got = (result);                                                              \
    ASSERT_EQ(got.error, "");                                                                     \
    EXPECT_THAT(got.outputs.back(), ::testing::Pointwise(::testing::NanSensitiveDoubleNear(1e-5), \
                                                         Values(__VA_ARGS__)));                   \
  } while (false)
