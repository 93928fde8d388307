// The reference kernels: every case runs, stays inside its memory, gives what was worked out by
// hand; in-place and out-of-place runs agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/conformance/random_cases.h"

namespace lazyrt {
namespace {

class Reference : public testing::TestWithParam<CaseRef> {};

void check_in_place(const CaseNode& node, const CaseResult& result) {
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const bool allowed = (node.op.def->inplace_inputs >> i & 1) != 0;
    const bool fits = dtype_size(node.inputs[i].dtype) == dtype_size(node.outputs[0].dtype) &&
                      node.inputs[i].shape == node.outputs[0].shape;
    if (!allowed || !fits || node.inputs[i].dtype != node.outputs[0].dtype) continue;
    const CaseResult in_place = run_in_place(node, i);
    ASSERT_TRUE(in_place.status.ok()) << in_place.status.message();
    EXPECT_EQ(difference(result.outputs[0], in_place.outputs[0], 0), "")
        << "in place of operand " << i;
  }
}

void check_expected(const OpCase& c, const GuardedTensor& output) {
  if (c.expected.empty()) return;
  ASSERT_EQ(static_cast<size_t>(output.view().numel()), c.expected.size());
  for (size_t i = 0; i < c.expected.size(); ++i) {
    EXPECT_NEAR(output.at(static_cast<int64_t>(i)), c.expected[i], 1e-5) << "element " << i;
  }
}

TEST_P(Reference, RunsInsideItsMemory) {
  const OpCase& c = *GetParam().op_case;
  SCOPED_TRACE("LAZYRT_SEED=" + std::to_string(conformance_seed()));
  const CaseNode node(*GetParam().op, c, conformance_seed());
  ASSERT_TRUE(node.inferred.ok()) << node.inferred.message();
  const CaseResult result = run_kernel(node, node.op.def->reference, nullptr);
  EXPECT_EQ(result.misuse, "");
  if (c.refused_at_run) {
    EXPECT_EQ(result.status.error(), Error::kOutOfRange) << result.status.message();
    return;
  }
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  check_expected(c, result.outputs[0]);
  check_in_place(node, result);
}

INSTANTIATE_TEST_SUITE_P(Cases, Reference, testing::ValuesIn(case_refs()), case_test_name);

TEST(ReferenceRandom, RunsInsideItsMemory) {
  for (const OpCases& op : all_cases()) {
    for (const OpCase& c : random_cases(op.op->kind, 30, conformance_seed())) {
      SCOPED_TRACE(std::string(op.op->name) + "/" + c.name +
                   " LAZYRT_SEED=" + std::to_string(conformance_seed()));
      const CaseNode node(*op.op, c, conformance_seed());
      ASSERT_TRUE(node.inferred.ok()) << node.inferred.message();
      const CaseResult result = run_kernel(node, op.op->def->reference, nullptr);
      EXPECT_EQ(result.misuse, "");
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      check_in_place(node, result);
    }
  }
}

/// Every op has cases of several sizes, one of them with nothing in it, and their names are unique.
TEST(CaseTable, CoversEveryOp) {
  for (const OpCases& op : all_cases()) {
    EXPECT_GE(op.cases.size(), 6u) << op.op->name;
    bool has_empty = false;
    std::vector<std::string> names;
    for (const OpCase& c : op.cases) {
      names.push_back(c.name);
      for (const CaseOperand& o : c.operands) {
        has_empty = has_empty || std::count(o.shape.begin(), o.shape.end(), 0) > 0;
      }
      if (c.operands.empty())
        has_empty = has_empty || CaseNode(*op.op, c, 1).outputs[0].shape.numel() == 0;
    }
    EXPECT_TRUE(has_empty) << op.op->name << " has no case of size 0";
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << op.op->name;
  }
}

/// A test that cannot fail proves nothing: what difference() must see.
TEST(Difference, SeesWhatDiffers) {
  GuardedTensor a(DType::kFloat32, Shape{2}), b(DType::kFloat32, Shape{2});
  for (GuardedTensor* t : {&a, &b}) t->set(0, 1), t->set(1, 100);
  EXPECT_EQ(difference(a, b, 0), "");
  b.set(0, 1.01);
  EXPECT_EQ(difference(a, b, 1e-3), "");
  EXPECT_NE(difference(a, b, 1e-5), "");
  b.set(0, std::nan(""));
  EXPECT_NE(difference(a, b, 1), "");
  EXPECT_NE(difference(b, a, 1), "");
  a.set(0, std::nan(""));
  EXPECT_EQ(difference(a, b, 0), "");
  a.set(1, HUGE_VAL);
  EXPECT_NE(difference(a, b, 1), "");
}

TEST(Guards, SeeWritesOutside) {
  GuardedTensor t(DType::kFloat32, Shape{3});
  EXPECT_TRUE(t.guards_intact());
  t.view().as<float>()[3] = 0;
  EXPECT_FALSE(t.guards_intact());
}

}  // namespace
}  // namespace lazyrt
