// Nodes that shaders cannot run because of their sizes are refused by name. Types that have no
// shader are refused in expectations.txt. Specs only: no device, and no memory of these sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lazyrt/runtime.h"
#include "tests/conformance/case_run.h"

namespace lazyrt {
namespace {

struct LargeNode {
  const char* name;
  fb::OpAttrsUnion attrs;
  std::vector<TensorSpec> inputs;
  size_t outputs;
  const char* says;  ///< part of the message
};

TensorSpec of(DType dtype, std::initializer_list<int64_t> dims) {
  return {dtype, Shape(dims), nullptr};
}
TensorSpec f32(std::initializer_list<int64_t> dims) { return of(DType::kFloat32, dims); }

template <class Table, class Set>
fb::OpAttrsUnion with(Set set) {
  Table t;
  set(t);
  return case_attrs(t);
}

constexpr int64_t kLong = (int64_t{1} << 31) + 8;

std::vector<LargeNode> large_nodes() {
  const TensorSpec line = f32({kLong}), ids = of(DType::kInt64, {4});
  const auto top_k = with<fb::TopKT>([](fb::TopKT& t) { t.axis = 1, t.k = 1; });
  return {
      {"top_k_row", top_k, {f32({1, 5000})}, 2, "rows have 5000 elements"},
      {"top_k_rows", top_k, {f32({1 << 24, 4096})}, 2, "in rows of 4096 are too many"},
      {"where_dims",
       case_attrs(fb::WhereT{}),
       {of(DType::kBool, {2, 1, 2, 1, 2, 1, 2}), f32({2, 2, 2, 2, 2, 2, 2}), f32({})},
       1,
       "where over 7 dims"},
      {"gather_axis", case_attrs(fb::GatherT{}), {line, ids}, 1, "the axis has 2147483656"},
      {"index_select_axis",
       case_attrs(fb::IndexSelectT{}),
       {line, ids},
       1,
       "the axis has 2147483656"},
      {"scatter_axis",
       case_attrs(fb::ScatterT{}),
       {line, ids, f32({4})},
       1,
       "the axis has 2147483656"},
      {"avg_pool2d_window",
       with<fb::AvgPool2dT>([](fb::AvgPool2dT& t) { t.kernel_h = (1 << 28) + 1, t.kernel_w = 1; }),
       {f32({1, 1 << 29, 1, 1})},
       1,
       "avg_pool2d: a window of more than 2^28"},
      {"max_pool2d_window",
       with<fb::MaxPool2dT>(
           [](fb::MaxPool2dT& t) { t.kernel_h = 3, t.kernel_w = 1, t.dilation_h = 1 << 27; }),
       {f32({1, 1 << 29, 1, 1})},
       1,
       "max_pool2d: a window of more than 2^28"},
      {"adaptive_avg_pool2d_sizes",
       with<fb::AdaptiveAvgPool2dT>(
           [](fb::AdaptiveAvgPool2dT& t) { t.out_h = 1 << 12, t.out_w = 1; }),
       {f32({1, 1 << 20, 1, 1})},
       1,
       "cannot count 1048576 times 4096"},
      {"lstm_gates",
       with<fb::LstmT>([](fb::LstmT& t) { t.layers = 1, t.has_bias = false; }),
       {f32({1000, 100, 8}), f32({1, 100, 128}), f32({1, 100, 128}), f32({512, 8}),
        f32({512, 128})},
       3,
       "lstm: the gates or states of all steps take 204800000 bytes"}};
}

TEST(VulkanSupports, RefusesByNameWhatShadersCannotCount) {
  for (const LargeNode& node : large_nodes()) {
    SCOPED_TRACE(node.name);
    const PackedAttrs attrs(node.attrs);
    const OpEntry* op = default_ops().find(attrs.view());
    ASSERT_NE(op, nullptr);
    std::vector<TensorSpec> outputs(node.outputs);
    const Status inferred = op->def->infer(attrs.view(), node.inputs, outputs);
    ASSERT_TRUE(inferred.ok()) << inferred.message();
    const Kernel& kernel = *op->kernels[static_cast<size_t>(KernelSlot::kVulkan)];
    const Status refused = kernel.supports({attrs.view(), node.inputs, outputs});
    EXPECT_EQ(refused.error(), Error::kUnsupported);
    EXPECT_THAT(refused.message(), testing::HasSubstr(node.says));
  }
}

}  // namespace
}  // namespace lazyrt
