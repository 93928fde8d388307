// Products of matrices on Vulkan at sizes that vary: each tile, and the form for few rows.

#include <cmath>

#include "tests/support/mixed_bundle.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::Mode;

constexpr int64_t kDepth = 24;

/// y = softmax(x weight^T) of x f32[n, kDepth], n from 1 to 4096.
test::BundleParts products_bundle(int64_t units) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const std::vector<float> weight = test::random_floats(static_cast<size_t>(units * kDepth), 1);
  const int x = b.input("x", DType::kFloat32, {64, kDepth});
  const int w = b.constant("weight", DType::kFloat32, {units, kDepth}, weight.data());
  const int product = b.node(fb::LinearT{}, {x, w}, DType::kFloat32, {64, units});
  fb::SoftmaxT softmax;
  softmax.axis = 1;
  b.output("y", b.node(softmax, {product}, DType::kFloat32, {64, units}));
  auto n = std::make_unique<fb::SymbolT>();
  n->name = "n", n->min = 1, n->max = 4096, n->multiple = 1;
  b.method().symbols.push_back(std::move(n));
  b.method().values[0]->symbols = {0, -1};
  return parts;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

class VulkanProducts : public test::OnVulkan<Mode> {
 protected:
  void SetUp() override { open(GetParam()); }
  void check(int64_t units);
};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanProducts, testing::ValuesIn(test::kModes),
                         [](const auto& test) { return test::mode_name(test.param); });

void VulkanProducts::check(int64_t units) {
  const test::Loaded loaded(products_bundle(units), default_ops());
  Session session = test::make(loaded.method(), options_);
  Session reference = test::make(loaded.method());
  const VulkanBackend& backend = *test::kBackends.of(GetParam());
  uint64_t pipelines = 0;
  for (const int64_t n : {5, 1, 4096, 3, 1700, 64}) {
    std::vector<float> x = test::random_floats(static_cast<size_t>(n * kDepth), 2);
    for (Session* s : {&session, &reference}) {
      ASSERT_TRUE(s->set_input(0, TensorView{x.data(), DType::kFloat32, {n, kDepth}}).ok());
      const Status status = s->run();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_LT(largest_difference(test::floats(session, 0), test::floats(reference, 0)), 1e-5) << n;
    if (pipelines != 0) {
      EXPECT_EQ(backend.statistics().pipelines, pipelines) << n;
    }
    pipelines = backend.statistics().pipelines;
  }
}

TEST_P(VulkanProducts, OfNewSizesMakeNoPipelines) { check(300); }

TEST_P(VulkanProducts, OfFewColumnsAreExact) {
  for (const int64_t units : {32, 19, 3}) check(units);
}

}  // namespace
}  // namespace lazyrt
