// States live where they are read and made, and change only in a run that succeeds.

#include <gmock/gmock.h>

#include <cstring>
#include <memory>

#include "tests/device/far_test.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::Far;
using test::far_counts;
using test::far_rules;
using test::Lines;
using test::Loaded;
using testing::HasSubstr;

/// x f32[4] + sum -> sum, a state; y = relu(sum). Beside it "runs", counted by ones.
BundleParts summing_bundle() {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const float ones[4] = {1, 1, 1, 1};
  const int x = b.input("x", DType::kFloat32, {4});
  const int one = b.constant("one", DType::kFloat32, {4}, ones);
  const int sum = b.state("sum", DType::kFloat32, {4}),
            runs = b.state("runs", DType::kFloat32, {4});
  const int next = b.node(test::add(), {sum, x}, DType::kFloat32, {4});
  b.method().states[0]->next = next;
  b.method().states[1]->next = b.node(test::add(), {runs, one}, DType::kFloat32, {4});
  b.output("y", b.node(test::relu(), {next}, DType::kFloat32, {4}));
  return parts;
}

class FarStates : public Far {
 protected:
  void run(Session* session, float x) {
    const float data[] = {x, x, x, x};
    ASSERT_TRUE(session->set_input(0, data, sizeof(data)).ok());
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  static float first(Session* session, size_t state) {
    const Result<TensorView> view = session->state(state);
    EXPECT_TRUE(view.ok()) << view.status().message();
    return view->as<float>()[3];
  }

  const Loaded bundle_{summing_bundle(), default_ops()};
};

TEST_F(FarStates, LiveWhereTheyAreReadAndMade) {
  Session session = test::make(bundle_.method(), on(far_reference_));
  run(&session, 1);
  far_counts().reset();
  for (int i = 0; i < 3; ++i) run(&session, 1);
  EXPECT_EQ(far_counts().submissions, 3);
  EXPECT_EQ(far_counts().waits, 3);
  EXPECT_EQ(session.stats().state_bytes, 0u) << "nothing wanted them on the host";
  EXPECT_EQ(far_counts().copies_in, 3) << "x";
  EXPECT_EQ(far_counts().copies_out, 3) << "y";
  EXPECT_EQ(far_counts().copies, 6);
  EXPECT_EQ(Lines(session).copies, 2);
  EXPECT_EQ(first(&session, 0), 4);
  EXPECT_EQ(first(&session, 1), 4);
  EXPECT_GT(session.stats().state_bytes, 0u);
  EXPECT_EQ(far_counts().copies_out, 5) << "looked at";
  EXPECT_EQ(first(&session, 1), 4);
  EXPECT_EQ(far_counts().copies_out, 5) << "looked at again";
  EXPECT_FALSE(test::far_memory_is_open());
}

TEST_F(FarStates, OfUnifiedMemoryAreCopiedByNobody) {
  far_rules().is_mapped = true;
  Session session = test::make(bundle_.method(), on(far_reference_));
  far_counts().reset();
  for (int i = 1; i < 4; ++i) {
    run(&session, 1);
    EXPECT_EQ(first(&session, 0), i);
    EXPECT_EQ(first(&session, 1), i);
  }
  const float tens[] = {10, 10, 10, 10};
  ASSERT_TRUE(session.set_state(0, {const_cast<float*>(tens), DType::kFloat32, {4}}).ok());
  run(&session, 1);
  EXPECT_EQ(first(&session, 0), 11);
  ASSERT_TRUE(session.reset_state().ok());
  run(&session, 1);
  EXPECT_EQ(first(&session, 0), 1);
  EXPECT_EQ(far_counts().copies_in + far_counts().copies_out, 0);
  EXPECT_EQ(session.stats().state_bytes, 0u) << "beside the device's";
}

/// What is wrong may be found after the copies of states were queued.
TEST_F(FarStates, ARunThatFailsLateChangesNone) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const float rows[] = {1, 2};
  const int x = b.input("x", DType::kFloat32, {1});
  const int ids = b.input("ids", DType::kInt64, {1});
  const int sum = b.state("sum", DType::kFloat32, {1});
  b.method().states[0]->next = b.node(test::add(), {sum, x}, DType::kFloat32, {1});
  const int table = b.constant("rows", DType::kFloat32, {2}, rows);
  b.output("y", b.node(fb::IndexSelectT{}, {table, ids}, DType::kFloat32, {1}));
  const Loaded bundle(parts, default_ops());
  for (const int rules : {0, 1, 2, 3}) {
    far_rules().goes_on = rules % 2 != 0;
    far_rules().is_mapped = rules / 2 != 0;
    Session session = test::make(bundle.method(), on(far_reference_));
    const float one = 1;
    ASSERT_TRUE(session.set_input(0, &one, sizeof(one)).ok());
    float expected = 0;
    for (const int64_t id : {0, 2, 1, 7, 0}) {
      ASSERT_TRUE(session.set_input(1, &id, sizeof(id)).ok());
      far_counts().reset();
      const Status status = session.run();
      EXPECT_EQ(status.error(), id < 2 ? Error::kOk : Error::kOutOfRange) << status.message();
      EXPECT_EQ(far_counts().waits, 1);
      EXPECT_EQ(far_counts().copies, 1);
      expected += id < 2 ? 1 : 0;
      EXPECT_EQ(*session.state(0)->as<float>(), expected);
    }
  }
}

/// A guard of what the host makes last is judged before states are kept.
TEST_F(FarStates, ARunThatIsStoppedWithinASegmentChangesNone) {
  int node = 0;
  Session* running = nullptr;
  far_rules().takes_time = [&](const OpEntry&) {
    if (running != nullptr && ++node == 2) running->cancel();
    return 1;
  };
  const test::FarBackend far = test::far_backend(reference_backend());
  Session session = test::make(bundle_.method(), on(far));
  run(&session, 1);
  running = &session;
  far_counts().reset();
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kCancelled);
  EXPECT_STREQ(status.message(), "method 'forward', on far: cancelled");
  EXPECT_EQ(far_counts().nodes, 1) << "of three";
  EXPECT_EQ(first(&session, 0), 1);
  EXPECT_EQ(first(&session, 1), 1);
  running = nullptr;
  run(&session, 1);
  EXPECT_EQ(test::floats(session, 0)[0], 2);
}

TEST_F(FarStates, ABrokenGuardChangesNone) {
  BundleParts parts = summing_bundle();
  fb::MethodT& method = *parts.bundle.methods[0];
  auto guard = std::make_unique<fb::GuardT>();
  test::MethodBuilder b(&parts, size_t{0});
  const int x = method.inputs[0]->value;
  const int64_t zero = 0;
  const int row = b.constant("zero", DType::kInt64, {1}, &zero);
  guard->kind = fb::GuardKind::Truth;
  guard->value = b.node(fb::IndexSelectT{}, {x, row}, DType::kFloat32, {1});
  guard->seen_integer = 1;
  guard->source = -1;
  method.guards.push_back(std::move(guard));
  const Loaded bundle(parts, default_ops());
  for (const bool on_host : {true, false}) {
    far_rules().takes = [on_host](const OpEntry& op, const NodeSpec&) {
      return !on_host || op.kind != fb::OpAttrs::IndexSelect;
    };
    Session session = test::make(bundle.method(), on(far_reference_));
    run(&session, 2);
    const float zeros[4] = {};
    ASSERT_TRUE(session.set_input(0, zeros, sizeof(zeros)).ok());
    EXPECT_EQ(session.run().error(), Error::kGuardFailed);
    EXPECT_EQ(first(&session, 1), 1);
    run(&session, 2);
    EXPECT_EQ(first(&session, 1), 2);
    EXPECT_EQ(first(&session, 0), 4);
  }
}

TEST_F(FarStates, AreResetReadAndWrittenByName) {
  Session session = test::make(bundle_.method(), on(far_reference_));
  const size_t sum = *bundle_.method().find_state("sum");
  EXPECT_THAT(bundle_.method().find_state("mean").status().message(),
              HasSubstr("no state 'mean'; there is: sum, runs"));
  run(&session, 2);
  float tens[] = {10, 10, 10, 10};
  ASSERT_TRUE(session.set_state(sum, {tens, DType::kFloat32, {4}}).ok());
  EXPECT_EQ(first(&session, sum), 10);
  run(&session, 2);
  EXPECT_EQ(test::floats(session, 0)[0], 12);
  EXPECT_EQ(first(&session, 1), 2);
  ASSERT_TRUE(session.reset_state().ok());
  EXPECT_EQ(first(&session, sum), 0);
  run(&session, 3);
  EXPECT_EQ(first(&session, sum), 3);
  EXPECT_EQ(first(&session, 1), 1);
  EXPECT_THAT(session.set_state(sum, {tens, DType::kFloat32, {2, 2}}).message(),
              HasSubstr("state 'sum' takes f32[4], got f32[2,2]"));
  EXPECT_EQ(session.set_state(2, {tens, DType::kFloat32, {4}}).error(), Error::kInvalidArgument);
}

TEST_F(FarStates, AnInputMayBeOne) {
  Session session = test::make(bundle_.method(), on(far_reference_));
  run(&session, 1);
  const TensorView sum = *session.state(0);
  ASSERT_TRUE(session.bind_input(0, sum, 16 + kTailBytes).ok());
  for (const float expected : {2.0f, 4.0f, 8.0f}) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(test::floats(session, 0)[0], expected);
  }
}

TEST_F(FarStates, AnOutputMayBeWhatTheyBecome) {
  BundleParts parts = summing_bundle();
  parts.bundle.methods[0]->outputs[0]->value = parts.bundle.methods[0]->states[0]->next;
  const Loaded bundle(parts, default_ops());
  Session session = test::make(bundle.method(), on(far_reference_));
  const test::FarBlock there(16 + kTailBytes);
  ASSERT_TRUE(session.bind_output(0, there.address(), 16 + kTailBytes, &far_reference_).ok());
  for (int i = 1; i < 4; ++i) {
    run(&session, 2);
    float y[4];
    std::memcpy(y, there.read(16).data(), 16);
    EXPECT_EQ(y[3], 2.0f * static_cast<float>(i));
    EXPECT_EQ(first(&session, 0), y[3]);
  }
  EXPECT_EQ(session.stats().output_copy_bytes, 0u);
}

TEST_F(FarStates, AnySharesOfNodes) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed / 2, &random);
    far_rules().is_mapped = seed % 2 == 0;
    Session session = test::make(bundle_.method(), on(far_reference_));
    float sum = 0, runs = 0;
    for (int i = 0; i < 12; ++i) {
      switch (random() % 4) {
        case 0:
          ASSERT_TRUE(session.reset_state().ok());
          sum = runs = 0;
          break;
        case 1:
          EXPECT_EQ(first(&session, 0), sum);
          break;
        default:
          run(&session, 1);
          EXPECT_EQ(test::floats(session, 0)[0], sum += 1);
          EXPECT_EQ(first(&session, 1), runs += 1);
      }
    }
  }
}

TEST_F(FarStates, ARunThatFailsChangesNone) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2, 3});
  const int ids = b.input("ids", DType::kInt64, {2});
  const int sum = b.state("sum", DType::kFloat32, {2, 3});
  b.method().states[0]->next = b.node(test::add(), {sum, x}, DType::kFloat32, {2, 3});
  b.output("y", b.node(fb::IndexSelectT{}, {x, ids}, DType::kFloat32, {2, 3}));
  const Loaded bundle(parts, default_ops());
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) {
    return op.kind != fb::OpAttrs::IndexSelect;
  };
  Session session = test::make(bundle.method(), on(far_reference_));
  const float ones[] = {1, 1, 1, 1, 1, 1};
  ASSERT_TRUE(session.set_input(0, ones, sizeof(ones)).ok());
  float expected = 0;
  for (const int64_t id : {0, 2, 1, 7, 0}) {
    const int64_t both[] = {id, id};
    ASSERT_TRUE(session.set_input(1, both, sizeof(both)).ok());
    const bool is_good = id < 2;
    EXPECT_EQ(session.run().ok(), is_good);
    expected += is_good ? 1 : 0;
    EXPECT_EQ(session.state(0)->as<float>()[5], expected);
  }
}

}  // namespace
}  // namespace lazyrt
