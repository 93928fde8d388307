// Attributes and operands at the ends of their ranges, on the reference and on cpu: what the shape
// rule takes runs, by both alike. Under the sanitizers: nothing in it is undefined.

#include <gtest/gtest.h>

#include "lazyrt/runtime.h"
#include "runtime/op/node_work.h"
#include "tests/conformance/case_table.h"
#include "tests/conformance/extremes.h"
#include "tests/conformance/random_cases.h"

namespace lazyrt {
namespace {

constexpr uint64_t kMostSteps = 300000;
constexpr int64_t kMostBytes = 1 << 20;

bool is_small(const CaseNode& node) {
  for (const auto* specs : {&node.inputs, &node.outputs}) {
    for (const TensorSpec& s : *specs) {
      if (s.present() && static_cast<int64_t>(s.bytes()) > kMostBytes) return false;
    }
  }
  return work_of_node(*node.op.def, node.attrs.view(), node.inputs, node.outputs).steps() <=
         kMostSteps;
}

/// Of integers and bool: equal. Floating results at the ends of the range differ in good faith.
std::string integer_difference(const CaseResult& a, const CaseResult& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (is_floating(a.outputs[i].view().dtype)) continue;
    const std::string text = difference(a.outputs[i], b.outputs[i], 0);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  return "";
}

class Extremes : public testing::TestWithParam<size_t> {
 protected:
  static const OpCases& op() { return all_cases()[GetParam()]; }

  /// The cases and some random ones.
  static CaseList cases() {
    CaseList all = random_cases(op().op->kind, 10, conformance_seed());
    all.insert(all.end(), op().cases.begin(), op().cases.end());
    return all;
  }

  /// Whether it was run. REQUIRES: inferred is of the node as it is.
  bool run(const CaseNode& node) {
    if (!node.inferred.ok() || !is_small(node)) return false;
    SCOPED_TRACE(std::string(op().op->name) + " " + node.attrs.json());
    const CaseResult expected = run_kernel(node, node.op.def->reference, nullptr);
    EXPECT_EQ(expected.misuse, "");
    EXPECT_TRUE(expected.status.ok() || expected.status.error() == Error::kOutOfRange)
        << expected.status.message();
    Fault why;
    const Kernel* kernel = cpu_backend()->select(node.op, node.spec(), &why);
    if (kernel == nullptr || kernel == &node.op.def->reference) return true;
    const CaseResult actual = run_kernel(node, *kernel, cpu_.services());
    if (actual.status.error() == Error::kUnsupported) return true;  // by prepare
    EXPECT_EQ(actual.misuse, "");
    EXPECT_EQ(actual.status.error(), expected.status.error()) << actual.status.message();
    if (expected.status.ok() && actual.status.ok()) {
      EXPECT_EQ(integer_difference(expected, actual), "");
    }
    return true;
  }

 private:
  const OpenBackend cpu_{cpu_backend(), 1};
};

TEST_P(Extremes, OfEachAttributeAreRefusedOrRun) {
  for (const OpCase& c : cases()) {
    CaseNode node(*op().op, c, conformance_seed());
    for (const AttributeSlot& slot : attribute_slots(&node.attrs)) {
      uint64_t kept = 0;
      const size_t width =
          slot.type == flatbuffers::ET_BOOL || slot.type == flatbuffers::ET_UCHAR    ? 1
          : slot.type == flatbuffers::ET_LONG || slot.type == flatbuffers::ET_DOUBLE ? 8
                                                                                     : 4;
      std::memcpy(&kept, slot.at, width);
      for (size_t i = 0; i < kExtremes && !HasFailure(); ++i) {
        write_extreme(slot, i);
        node.inferred = node.op.def->infer(node.attrs.view(), node.inputs, node.outputs);
        run(node);
      }
      std::memcpy(slot.at, &kept, width);
    }
  }
}

TEST_P(Extremes, OfOperandsRun) {
  size_t runs = 0;
  for (const OpCase& c : cases()) {
    for (size_t first = 0; first < 12 && !HasFailure(); ++first) {
      const CaseNode node(*op().op, c, conformance_seed());
      for (const GuardedTensor& operand : node.operands) fill_with_extremes(operand, first * 8);
      runs += run(node) ? 1 : 0;
    }
  }
  EXPECT_GT(runs, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ops, Extremes, testing::Range(size_t{0}, all_cases().size()),
                         op_test_name);

}  // namespace
}  // namespace lazyrt
