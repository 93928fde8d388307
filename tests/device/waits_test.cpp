// What a run queues on a device is one submission, which the host waits for once, and guards are
// judged as if it had waited for each.

#include <gmock/gmock.h>

#include "tests/device/far_test.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::bytes_of;
using test::Far;
using test::far_counts;
using test::far_rules;
using test::Loaded;

class FarWaits : public Far {
 protected:
  /// A method with guards on what its nodes make: in place, before and behind a node that fails.
  ///   a = x + 1         guard: it is not 0
  ///   b = relu(a)       in the place of a; guard: it is not 0
  ///   c = rows[id] + b  guard: it is not 0
  static BundleParts guarded_bundle() {
    BundleParts parts;
    test::MethodBuilder b(&parts);
    const float one = 1, rows[2] = {0, -5};
    const int x = b.input("x", DType::kFloat32, {1});
    const int id = b.input("id", DType::kInt64, {1});
    const int w = b.constant("one", DType::kFloat32, {1}, &one);
    const int table = b.constant("rows", DType::kFloat32, {2}, rows);
    const int a = b.node(test::add(), {x, w}, DType::kFloat32, {1});
    guard(&b, a, "a");
    const int relu = b.node(test::relu(), {a}, DType::kFloat32, {1}, a);
    guard(&b, relu, "b");
    const int row = b.node(fb::IndexSelectT{}, {table, id}, DType::kFloat32, {1});
    const int c = b.node(test::add(), {row, relu}, DType::kFloat32, {1});
    guard(&b, c, "c");
    b.output("y", b.node(test::relu(), {c}, DType::kFloat32, {1}));
    return parts;
  }
  static void guard(test::MethodBuilder* b, int value, const char* text) {
    auto guard = std::make_unique<fb::GuardT>();
    guard->kind = fb::GuardKind::Truth;
    guard->value = value;
    guard->seen_integer = 1;
    guard->source = -1;
    guard->text = text;
    b->method().guards.push_back(std::move(guard));
  }
  static Status run(Session* session, float x, int64_t id) {
    EXPECT_TRUE(session->set_input(0, &x, sizeof(x)).ok());
    EXPECT_TRUE(session->set_input(1, &id, sizeof(id)).ok());
    return session->run();
  }
};

TEST_F(FarWaits, AMixedBundleIsOneSubmissionAndOneWait) {
  const Loaded mixed{test::mixed_bundle(default_ops()), default_ops()};
  const std::vector<float> image = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids[5] = {1, 9, 0, 3, 3};
  Session session = test::make(mixed.method(), on(far_cpu_));
  ASSERT_TRUE(session.set_input(0, image.data(), image.size() * sizeof(float)).ok());
  ASSERT_TRUE(session.set_input(1, ids, sizeof(ids)).ok());
  for (int i = 0; i < 2; ++i) {
    far_counts().reset();
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(far_counts().copies_in, 2);
    EXPECT_EQ(far_counts().copies_out, 3);
    EXPECT_EQ(far_counts().submissions, 1);
    EXPECT_EQ(far_counts().waits, 1);
  }
}

TEST_F(FarWaits, GuardsAreReadBackOnce) {
  const Loaded guarded(guarded_bundle(), default_ops());
  Session session = test::make(guarded.method(), on(far_reference_));
  far_counts().reset();
  ASSERT_TRUE(run(&session, 2, 0).ok());
  EXPECT_EQ(far_counts().segments, 4) << "what follows a guard may overwrite its value";
  EXPECT_EQ(far_counts().copies_out, 4) << "three guards, y";
  EXPECT_EQ(far_counts().submissions, 1);
  EXPECT_EQ(far_counts().waits, 1);
}

/// Whatever the device has, and whether it goes on behind an error or not: the same guard breaks,
/// or the same error is told, as node by node.
TEST_F(FarWaits, GuardsAndErrorsAreTheFirstOnes) {
  const Loaded guarded(guarded_bundle(), default_ops());
  for (uint32_t seed = 0; seed < 64; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed / 2, &random);
    far_rules().goes_on = seed % 2 == 0;
    Session session = test::make(guarded.method(), on(far_reference_));
    Session alone = test::make(guarded.method());
    for (const float x : {2.0f, -1.0f, -3.0f, 4.0f}) {
      for (const int64_t id : {0, 1, 7}) {
        const Status expected = run(&alone, x, id);
        const Status status = run(&session, x, id);
        ASSERT_EQ(status.error(), expected.error()) << x << ", " << id << ": " << status.message();
        if (status.error() == Error::kGuardFailed) {
          EXPECT_STREQ(status.message(), expected.message());
        }
        if (!status.ok()) continue;
        EXPECT_EQ(test::floats(session, 0), test::floats(alone, 0));
      }
    }
    for (size_t g = 0; g < 3; ++g) EXPECT_EQ(session.guard_refusals(g), alone.guard_refusals(g));
    EXPECT_GT(alone.guard_refusals(0) * alone.guard_refusals(1) * alone.guard_refusals(2), 0u);
  }
}

TEST_F(FarWaits, OfSeveralVariantsGuardsAreJudgedBeforeWhatFollows) {
  const Loaded bundle(test::branching_bundle(), default_ops());
  Session session = test::make(bundle.method(), on(far_reference_));
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  far_counts().reset();
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(*session.variant(), 1u);
  EXPECT_EQ(far_counts().segments, 3) << "of the first variant what comes before its guard";
}

TEST_F(FarWaits, TheHostWaitsOnlyForWhatItReads) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int there = b.node(test::relu(), {x}, DType::kFloat32, {4});
  const int here = b.node(test::add(), {x, x}, DType::kFloat32, {4});
  const int there_too = b.node(test::relu(), {here}, DType::kFloat32, {4});
  b.output("y", b.node(test::add(), {there, there_too}, DType::kFloat32, {4}));
  const Loaded bundle(parts, default_ops());
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) {
    return op.kind == fb::OpAttrs::Unary;
  };
  Session session = test::make(bundle.method(), on(far_reference_));
  const float data[] = {-1, 2, 3, -4};
  ASSERT_TRUE(session.set_input(0, data, sizeof(data)).ok());
  far_counts().reset();
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(far_counts().submissions, 2) << "it begins while the host adds";
  EXPECT_EQ(far_counts().waits, 1);
  EXPECT_EQ(test::floats(session, 0), (std::vector<float>{0, 6, 9, 0}));
}

TEST_F(FarWaits, ItsMemoryMayBeShortOnce) {
  const Loaded mixed{test::mixed_bundle(default_ops()), default_ops()};
  int refused = 0;
  for (int n = 0, left = 0; left <= 0; ++n) {
    ASSERT_LT(n, 1000);
    left = n;
    far_rules().allocates = [&left](uint64_t) { return left-- != 0; };
    const Loaded again{test::mixed_bundle(default_ops()), default_ops()};
    const Result<Session> session = Session::create(again.method(), on(far_cpu_));
    if (session.ok()) continue;
    EXPECT_EQ(session.status().error(), Error::kOutOfMemory) << session.status().message();
    ++refused;
    EXPECT_TRUE(Session::create(again.method(), on(far_cpu_)).ok());
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace lazyrt
