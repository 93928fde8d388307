// A run reads nothing of a bundle but its constants: sessions go on when the metadata is gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/backend/backend.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/hidden_bundle.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::floats;
using test::HiddenBundle;
using testing::ElementsAre;

class NoMetadata : public testing::TestWithParam<const Backend*> {
 protected:
  SessionOptions options() const {
    SessionOptions options;
    options.backend = GetParam();
    options.profile = true;
    return options;
  }
};

TEST_P(NoMetadata, EveryKindOfNodeRuns) {
  HiddenBundle bundle(test::mixed_bundle(default_ops()), default_ops());
  Session session = test::make(bundle.method(), options());
  const std::vector<float> image = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids[] = {1, 9, 0, 3, 3};
  alignas(64) float mine[16] = {};
  std::vector<std::vector<float>> expected;
  for (const bool hidden : {false, true, true}) {
    if (hidden) bundle.hide();
    ASSERT_TRUE(session.set_input(0, image.data(), image.size() * sizeof(float)).ok());
    ASSERT_TRUE(session.set_input(1, ids, sizeof(ids)).ok());
    ASSERT_TRUE(session.bind_output(0, hidden ? mine : nullptr, sizeof(mine)).ok());
    const Status status = session.run();
    const std::vector<float> classes = floats(session, 0), sequence = floats(session, 1);
    bundle.show();
    ASSERT_TRUE(status.ok()) << status.message();
    expected.push_back(classes);
    EXPECT_EQ(classes, expected[0]);
    expected.push_back(sequence);
    EXPECT_EQ(sequence, expected[1]);
  }
}

TEST_P(NoMetadata, VariantsAreChosenAndStatesKept) {
  HiddenBundle bundle(test::branching_bundle(), default_ops());
  Session session = test::make(bundle.method(), options());
  bundle.hide();
  for (int round = 0; round < 2; ++round) {
    for (const float* x : {test::kBranchingUp, test::kBranchingDown}) {
      EXPECT_TRUE(session.set_input(0, x, 16).ok());
      EXPECT_TRUE(session.run().ok());
      EXPECT_EQ(*session.variant(), x == test::kBranchingUp ? 0u : 1u);
    }
    EXPECT_THAT(std::vector<float>(1, *session.state(0)->as<float>()), ElementsAre(5 + 1 + 10));
    EXPECT_TRUE(session.reset_state().ok());
  }
  bundle.show();
}

TEST_P(NoMetadata, OtherSizesRunOnceTheyAreBound) {
  HiddenBundle bundle(test::dynamic_bundle(), test::tiny_ops());
  Session session = test::make(bundle.method(), test::on_reference());
  const std::vector<float> x(24, 2), mask(18, 1);
  const std::vector<int64_t> ids(6, 1);
  for (const int64_t rows : {int64_t{4}, int64_t{7}}) {
    const Shape shapes[] = {Shape({rows, 3}), Shape({6}), Shape({6, 3})};
    ASSERT_TRUE(session.bind_shapes(shapes).ok());
    bundle.hide();
    const Status x_set =
        session.set_input(0, {const_cast<float*>(x.data()), DType::kFloat32, {rows, 3}});
    const Status ids_set = session.set_input(1, ids.data(), 6 * sizeof(int64_t));
    const Status mask_set = session.set_input(2, mask.data(), 18 * sizeof(float));
    const Status status = session.run();
    const std::vector<float> total = floats(session, 0);
    bundle.show();
    for (const Status& s : {x_set, ids_set, mask_set, status}) ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(total, std::vector<float>(18, 9));
  }
}

TEST_P(NoMetadata, ThePlanIsCounted) {
  const test::Loaded mixed(test::mixed_bundle(default_ops()), default_ops());
  const Session session = test::make(mixed.method(), options());
  const SessionStats stats = session.stats();
  EXPECT_GT(stats.plan_bytes, session.node_count() * 100);
  EXPECT_LT(stats.plan_bytes, stats.total_bytes - stats.arena_bytes - stats.workspace_bytes);
}

INSTANTIATE_TEST_SUITE_P(Backends, NoMetadata, testing::Values(reference_backend(), cpu_backend()),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace lazyrt
