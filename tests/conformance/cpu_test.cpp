// The cpu backend against the reference: every case that `supports` takes, and random ones, on one
// thread and on two, and without vector routines. expectations.txt says which cases it does not
// take or is known to fail.

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/unary/unary_rows.h"
#include "lazyrt/runtime.h"
#include "platforms/posix/conformance/expectations.h"
#include "runtime/backends/cpu/cpu_backend.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/conformance/random_cases.h"

namespace lazyrt {
namespace {

const Expectations& expectations() {
  static std::string error;
  static const Expectations all = Expectations::read(LAZYRT_EXPECTATIONS, &error);
  EXPECT_EQ(error, "");
  return all;
}

/// How the cpu backend is run: with this processor's vectors or without any, where kernels choose
/// other ways.
struct Setting {
  int threads = 1;
  bool vectors = true;
};
constexpr Setting kSettings[] = {{1, true}, {2, true}, {1, false}};

/// Empty if the cpu kernel and the reference agree, else what is wrong.
std::string disagreement(const CaseNode& node, const OpCase& c, const Kernel& kernel,
                         const Setting& setting) {
  const OpenBackend backend(cpu_backend(), setting.threads);
  if (!backend.status().ok()) return backend.status().message();
  if (!setting.vectors) {
    const VectorOps* all[kMaxVectorOps];
    static_cast<CpuServices*>(backend.services())->vector = all[all_vector_ops(all) - 1];
  }
  const CaseResult expected = run_kernel(node, node.op.def->reference, nullptr);
  const CaseResult actual = run_kernel(node, kernel, backend.services());
  if (!actual.misuse.empty()) return actual.misuse;
  if (actual.status.error() != expected.status.error()) {
    return std::string("status: ") + actual.status.message() +
           "; reference: " + expected.status.message();
  }
  for (size_t i = 0; expected.status.ok() && i < expected.outputs.size(); ++i) {
    const std::string text = difference(expected.outputs[i], actual.outputs[i], c.tolerance);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  return "";
}

std::vector<CaseRef> cpu_cases() {
  std::vector<CaseRef> refs;
  for (const CaseRef& c : case_refs()) {
    if (c.op->kernels[static_cast<size_t>(KernelSlot::kCpu)] != nullptr) refs.push_back(c);
  }
  return refs;
}

/// What the entry of a function of one operand says itself needs no line.
bool has_no_vector_form(const OpCase& c) {
  const fb::UnaryT* unary = c.attrs.AsUnary();
  if (unary == nullptr) return false;
  return vector_baseline::kUnaryRows.at[static_cast<size_t>(unary->fn)] == nullptr;
}

Expectation expectation(const CaseRef& c) {
  if (has_no_vector_form(*c.op_case))
    return {Expectation::Kind::kUnsupported, "its entry has no vector form"};
  return expectations().of(c.id());
}

class Cpu : public testing::TestWithParam<CaseRef> {};

TEST_P(Cpu, AgreesWithReference) {
  const OpCase& c = *GetParam().op_case;
  const std::string id = GetParam().id();
  SCOPED_TRACE("LAZYRT_SEED=" + std::to_string(conformance_seed()));
  const CaseNode node(*GetParam().op, c, conformance_seed());
  ASSERT_TRUE(node.inferred.ok()) << node.inferred.message();
  const Expectation expected = expectation(GetParam());
  Fault why;
  const Kernel* kernel = cpu_backend()->select(*GetParam().op, node.spec(), &why);
  if (kernel == nullptr) {
    EXPECT_EQ(expected.kind, Expectation::Kind::kUnsupported)
        << "expectations.txt needs the line\nUNSUPPORTED " << id << " " << why.message();
    return;
  }
  EXPECT_NE(expected.kind, Expectation::Kind::kUnsupported) << "now supported: remove its line";
  const bool may_fail = expected.kind == Expectation::Kind::kFails;
  bool failed = false;
  for (const Setting& setting : kSettings) {
    const std::string text = disagreement(node, c, *kernel, setting);
    failed = failed || !text.empty();
    EXPECT_TRUE(may_fail || text.empty())
        << text << ", " << setting.threads << " threads, vectors: " << setting.vectors;
  }
  EXPECT_EQ(failed, may_fail) << "expected to fail (" << expected.reason
                              << ") but passes: remove its line";
}

INSTANTIATE_TEST_SUITE_P(Cases, Cpu, testing::ValuesIn(cpu_cases()), case_test_name);

class CpuRandom : public testing::TestWithParam<size_t> {};

TEST_P(CpuRandom, AgreesWithReference) {
  const OpCases& op = all_cases()[GetParam()];
  if (op.op->kernels[static_cast<size_t>(KernelSlot::kCpu)] == nullptr)
    GTEST_SKIP() << "no cpu kernel";
  const uint64_t seed = conformance_seed();
  for (const OpCase& c : random_cases(op.op->kind, 60, seed)) {
    SCOPED_TRACE(std::string(op.op->name) + "/" + c.name + " LAZYRT_SEED=" + std::to_string(seed));
    const CaseNode node(*op.op, c, seed);
    ASSERT_TRUE(node.inferred.ok()) << node.inferred.message();
    Fault why;
    const Kernel* kernel = cpu_backend()->select(*op.op, node.spec(), &why);
    if (kernel == nullptr) continue;
    EXPECT_EQ(disagreement(node, c, *kernel, kSettings[c.name.size() % std::size(kSettings)]), "")
        << node.attrs.json() << " on " << shape_text(node.inputs[0].shape).text;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CpuRandom, testing::Range(size_t{0}, all_cases().size()),
                         op_test_name);

/// A line of a case that is gone, or of an op without cpu kernel, is a mistake.
TEST(ExpectationFile, NamesOnlyCasesThereAre) {
  const std::vector<CaseRef> cases = cpu_cases();
  for (const auto& line : expectations().lines()) {
    const bool found = std::any_of(cases.begin(), cases.end(), [&](const CaseRef& c) {
      return Expectations::matches(line.first.c_str(), c.id().c_str());
    });
    EXPECT_TRUE(found) << line.first << " " << line.second.reason;
  }
}

TEST(ExpectationFile, StarStandsForAnyText) {
  EXPECT_TRUE(Expectations::matches("unary/*_f64", "unary/Abs_f64"));
  EXPECT_TRUE(Expectations::matches("a/*", "a/"));
  EXPECT_FALSE(Expectations::matches("unary/*_f64", "unary/Abs_f32"));
  EXPECT_FALSE(Expectations::matches("unary/Abs", "unary/Abs_f64"));
}

}  // namespace
}  // namespace lazyrt
