// Guards, states and variants: what a session checks, keeps and chooses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/branching_bundle.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::floats;
using test::Loaded;
using test::make;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TensorView view_of(const float* data, int64_t rows) {
  return {const_cast<float*>(data), DType::kFloat32, {rows, 1}};
}

float count_of_session(const Session& session) { return *session.state(0)->as<float>(); }

/// Only the first variant: what a bundle of one trace looks like.
test::BundleParts one_path() {
  test::BundleParts parts = test::branching_bundle();
  parts.bundle.methods[0]->variants.clear();
  return parts;
}

TEST(Guards, AnInputThatTakesThePathRuns) {
  const Loaded bundle(one_path());
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAre(2, 0, 6, 0));
  EXPECT_EQ(*session.variant(), 0u);
}

TEST(Guards, ABrokenOneEndsTheRunByLine) {
  const Loaded bundle(one_path());
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_STREQ(status.message(),
               "this input takes another path than the exported one: bool(x[0] > 0) was true when "
               "exported, now false (model.py:12)");
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  EXPECT_EQ(session.variant().status().error(), Error::kFailedPrecondition);
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  EXPECT_TRUE(session.run().ok()) << "the session goes on";
}

TEST(Guards, AreChecksBeforeTheNodesThatFollow) {
  test::BundleParts parts = one_path();
  fb::MethodT& m = *parts.bundle.methods[0];
  m.samples.clear();
  // The last node would fail: the guard is told, not the node.
  auto bad = std::make_unique<fb::ValueT>(*m.values[3]);
  const int64_t far[1] = {99};
  bad->offset = test::BundleParts::append(&parts.constants, far, sizeof(far));
  const int id = static_cast<int>(m.values.size());
  m.values.push_back(std::move(bad));
  auto node = std::make_unique<fb::NodeT>(*m.nodes[0]);
  node->inputs = {0, id};
  node->outputs = {id + 1};
  auto value = std::make_unique<fb::ValueT>(*m.values[4]);
  value->offset = m.arena_bytes;
  m.arena_bytes += 64;
  m.values.push_back(std::move(value));
  m.nodes.push_back(std::move(node));
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  EXPECT_EQ(session.run().error(), Error::kGuardFailed);
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  EXPECT_EQ(session.run().error(), Error::kOutOfRange);
}

struct Seen {
  const char* name;
  DType dtype;
  fb::GuardKind kind;
  int64_t integer;
  double real;
  double tolerance;
  std::vector<uint8_t> holds;
  std::vector<uint8_t> breaks;
  const char* message;
};

template <class T>
std::vector<uint8_t> bytes_of(T x) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &x, sizeof(T));
  return bytes;
}

class GuardOfAnInput : public testing::TestWithParam<Seen> {};

TEST_P(GuardOfAnInput, HoldsForWhatWasSeenOnly) {
  const Seen& seen = GetParam();
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  auto guard = std::make_unique<fb::GuardT>();
  guard->value = b.input("n", seen.dtype, {});
  guard->kind = seen.kind;
  guard->seen_integer = seen.integer;
  guard->seen_real = seen.real;
  guard->tolerance = seen.tolerance;
  b.method().guards.push_back(std::move(guard));
  b.output("same", 0);
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, seen.holds.data(), seen.holds.size()).ok());
  EXPECT_TRUE(session.run().ok()) << session.run().message();
  ASSERT_TRUE(session.set_input(0, seen.breaks.data(), seen.breaks.size()).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_THAT(status.message(), HasSubstr(seen.message));
}

constexpr auto kEqual = fb::GuardKind::Equal;
constexpr auto kTruth = fb::GuardKind::Truth;

INSTANTIATE_TEST_SUITE_P(
    Numbers, GuardOfAnInput,
    testing::Values(
        Seen{"i64", DType::kInt64, kEqual, INT64_MAX, 0, 0, bytes_of(INT64_MAX),
             bytes_of(INT64_MAX - 1), "a value was 9223372036854775807 when exported, now 92233"},
        Seen{"i32", DType::kInt32, kEqual, -3, 0, 0, bytes_of(-3), bytes_of(3), "was -3"},
        Seen{"i16", DType::kInt16, kEqual, -3, 0, 0, bytes_of(int16_t{-3}), bytes_of(int16_t{4}),
             "now 4"},
        Seen{"i8", DType::kInt8, kEqual, -3, 0, 0, bytes_of(int8_t{-3}), bytes_of(int8_t{4}),
             "now 4"},
        Seen{"u8", DType::kUInt8, kEqual, 200, 0, 0, bytes_of(uint8_t{200}), bytes_of(uint8_t{4}),
             "was 200"},
        Seen{"bool_equal", DType::kBool, kEqual, 1, 0, 0, bytes_of(true), bytes_of(false),
             "was true when exported, now false"},
        Seen{"f32", DType::kFloat32, kEqual, 0, 0.5, 1e-3, bytes_of(0.5009f), bytes_of(0.502f),
             "was 0.5 when exported, now 0.501999974"},
        Seen{"f64_exact", DType::kFloat64, kEqual, 0, 0.1, 0, bytes_of(0.1), bytes_of(0.1000001),
             "now 0.1000001"},
        Seen{"infinity", DType::kFloat64, kEqual, 0, INFINITY, 0, bytes_of(double{INFINITY}),
             bytes_of(-double{INFINITY}), "was inf when exported, now -inf"},
        Seen{"nan", DType::kFloat32, kEqual, 0, NAN, 0, bytes_of(NAN), bytes_of(0.0f), "was nan"},
        Seen{"f16", DType::kFloat16, kEqual, 0, -1.5, 0, bytes_of(uint16_t{0xBE00}),
             bytes_of(uint16_t{0x0001}), "now 5.96046448e-08"},
        Seen{"bf16", DType::kBFloat16, kEqual, 0, -1.5, 0, bytes_of(uint16_t{0xBFC0}),
             bytes_of(uint16_t{0x7F80}), "now inf"},
        Seen{"truth_of_f32", DType::kFloat32, kTruth, 1, 0, 0, bytes_of(0.25f), bytes_of(-0.0f),
             "was true when exported, now false"},
        Seen{"truth_of_nan", DType::kFloat32, kTruth, 0, 0, 0, bytes_of(0.0f), bytes_of(NAN),
             "was false when exported, now true"},
        Seen{"truth_of_i64", DType::kInt64, kTruth, 1, 0, 0, bytes_of(int64_t{-7}),
             bytes_of(int64_t{0}), "now false"},
        Seen{"truth_of_bool", DType::kBool, kTruth, 0, 0, 0, bytes_of(false), bytes_of(true),
             "now true"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(Guards, AreListedByTheMethod) {
  const Loaded bundle(test::branching_bundle());
  const Method m = bundle.method();
  ASSERT_EQ(m.variant_count(), 3u);
  ASSERT_EQ(m.guard_count(), 1u);
  EXPECT_EQ(m.guard_count(2), 0u);
  const GuardInfo guard = m.guard(0, 1);
  EXPECT_STREQ(guard.text, "bool(x[0] > 0)");
  EXPECT_STREQ(guard.file, "model.py");
  EXPECT_EQ(guard.line, 12);
  EXPECT_EQ(guard.dtype, DType::kBool);
  EXPECT_EQ(guard.integer, 0);
  EXPECT_EQ(m.guard(0).integer, 1);
}

TEST(Guards, RefusalsAreCounted) {
  const Loaded bundle(test::branching_bundle());
  Session session = make(bundle.method());
  const auto run = [&](const float* x) {
    ASSERT_TRUE(session.set_input(0, view_of(x, 4)).ok());
    ASSERT_TRUE(session.run().ok());
  };
  EXPECT_EQ(session.stats().guard_refusals, 0u);
  run(test::kBranchingUp);
  EXPECT_EQ(session.guard_refusals(0), 0u);
  run(test::kBranchingDown);  // turned away from the first variant, served by the second
  run(test::kBranchingDown);
  EXPECT_EQ(session.guard_refusals(0), 2u);
  EXPECT_EQ(session.guard_refusals(0, 1), 0u);
  EXPECT_EQ(session.stats().guard_refusals, 2u);
  EXPECT_EQ(session.guard_refusals(7), 0u);
  EXPECT_EQ(session.guard_refusals(0, 9), 0u);
  EXPECT_EQ(make(bundle.method()).guard_refusals(0), 0u) << "each session has its own";
}

TEST(Guards, ARefusedRunIsCountedOnce) {
  const Loaded bundle(one_path());
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  EXPECT_EQ(session.run().error(), Error::kGuardFailed);
  EXPECT_EQ(session.guard_refusals(0), 1u);
}

TEST(States, LiveFromRunToRunAndCanBeReset) {
  const Loaded bundle(one_path());
  ASSERT_EQ(bundle.method().state_count(), 1u);
  EXPECT_STREQ(bundle.method().state(0).name, "count");
  EXPECT_EQ(bundle.method().state(0).shape, Shape({1, 1}));
  Session session = make(bundle.method());
  EXPECT_EQ(count_of_session(session), 5);
  EXPECT_EQ(session.stats().state_bytes, 64u);
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  for (int run = 1; run <= 3; ++run) {
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(count_of_session(session), 5 + run);
  }
  ASSERT_TRUE(session.reset_state().ok());
  EXPECT_EQ(count_of_session(session), 5);
  EXPECT_TRUE(session.output(0).ok()) << "results stay";
  EXPECT_EQ(session.state(1).status().error(), Error::kInvalidArgument);
}

TEST(States, OfTwoSessionsAreApart) {
  const Loaded bundle(one_path());
  Session a = make(bundle.method());
  Session b = make(bundle.method());
  ASSERT_TRUE(a.set_input(0, test::kBranchingUp, 16).ok());
  ASSERT_TRUE(a.run().ok());
  EXPECT_EQ(count_of_session(a), 6);
  EXPECT_EQ(count_of_session(b), 5);
}

TEST(States, StayAfterARunThatFails) {
  const Loaded bundle(one_path());
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  ASSERT_TRUE(session.run().ok());
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  EXPECT_FALSE(session.run().ok());
  EXPECT_EQ(count_of_session(session), 6);
}

TEST(States, WithoutFirstContentBeginAsZerosAndMayBecomeAnInput) {
  test::BundleParts parts = one_path();
  fb::MethodT& m = *parts.bundle.methods[0];
  m.states[0]->initial = -1;
  m.inputs.push_back(std::make_unique<fb::BindingT>());
  m.inputs[1]->name = "set";
  m.inputs[1]->value = static_cast<int>(m.values.size());
  auto value = std::make_unique<fb::ValueT>(*m.values[2]);
  value->kind = fb::ValueKind::Input;
  value->offset = m.arena_bytes;
  m.arena_bytes += 64;
  m.values.push_back(std::move(value));
  m.states[0]->next = m.inputs[1]->value;
  m.samples.clear();
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  EXPECT_EQ(count_of_session(session), 0);
  alignas(64) const float seven[16] = {7};
  ASSERT_TRUE(session.set_input(0, test::kBranchingUp, 16).ok());
  ASSERT_TRUE(session.bind_input(1, {const_cast<float*>(seven), DType::kFloat32, {1, 1}}, 64).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(count_of_session(session), 7);
}

TEST(States, CountForTheSessionsMemoryLimit) {
  const Loaded bundle(one_path());
  SessionOptions options = test::on_reference();
  options.memory_limit = bundle.method().arena_bytes() + 63;
  const Status status = Session::create(bundle.method(), options).status();
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("states of 64 bytes"));
  options.memory_limit = make(bundle.method()).stats().total_bytes + 2048;
  EXPECT_TRUE(Session::create(bundle.method(), options).ok());
}

TEST(Variants, TheFirstThatFitsRuns) {
  const Loaded bundle(test::branching_bundle());
  Session session = make(bundle.method());
  EXPECT_EQ(session.node_count(), 4u + 5u + 1u);
  EXPECT_EQ(session.node(4)->variant, 1u);
  EXPECT_EQ(session.node(9)->variant, 2u);
  ASSERT_TRUE(session.set_input(0, view_of(test::kBranchingDown, 4)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(*session.variant(), 1u);
  EXPECT_THAT(floats(session, 0), ElementsAre(1, 4, 3, 8));
  EXPECT_EQ(count_of_session(session), 15) << "only the variant that ran counts";
  const float small[2] = {7, -8};
  ASSERT_TRUE(session.set_input(0, small, sizeof(small)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(*session.variant(), 2u);
  EXPECT_EQ(session.output(0)->shape, Shape({2, 1}));
  EXPECT_THAT(floats(session, 0), ElementsAre(14, -16));
  EXPECT_EQ(count_of_session(session), 15);
  ASSERT_TRUE(session.set_input(0, view_of(test::kBranchingUp, 4)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(floats(session, 0), ElementsAre(2, 0, 6, 0));
  EXPECT_EQ(count_of_session(session), 16);
}

TEST(Variants, SamplesOfAllCheckThemselves) {
  const Loaded bundle(test::branching_bundle());
  const Method m = bundle.method();
  Session session = make(m);
  ASSERT_EQ(m.sample_count(), 3u);
  for (size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(m.sample_variant(s), s);
    ASSERT_TRUE(session.set_input(0, m.sample_input(s, 0)).ok());
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(*session.variant(), s);
    const TensorView expected = m.sample_output(s, 0);
    ASSERT_EQ(session.output(0)->shape, expected.shape);
    EXPECT_EQ(std::memcmp(session.output(0)->data, expected.data, expected.bytes()), 0);
  }
}

TEST(Variants, BoundInputsAreReadInPlaceByWhicheverRuns) {
  const Loaded bundle(test::branching_bundle());
  Session session = make(bundle.method());
  alignas(64) float mine[16] = {};
  ASSERT_TRUE(session.bind_input(0, view_of(mine, 4), sizeof(mine)).ok());
  for (const float* x : {test::kBranchingUp, test::kBranchingDown, test::kBranchingUp}) {
    std::copy(x, x + 4, mine);
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(*session.variant(), x == test::kBranchingUp ? 0u : 1u);
  }
  // Not fit for use in place: copied, for each run.
  float* odd = mine + 1;
  ASSERT_TRUE(session.bind_input(0, view_of(odd, 4), 16).ok());
  for (const float* x : {test::kBranchingDown, test::kBranchingUp}) {
    std::copy(x, x + 4, odd);
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(*session.variant(), x == test::kBranchingUp ? 0u : 1u);
  }
}

TEST(Variants, WhenNoneFitsEachSaysWhy) {
  test::BundleParts parts = test::branching_bundle();
  parts.bundle.methods[0]->variants.erase(parts.bundle.methods[0]->variants.begin());
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  ASSERT_TRUE(session.set_input(0, test::kBranchingDown, 16).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_STREQ(status.message(),
               "no variant of method 'forward' takes this input: 0: bool(x[0] > 0) was true when "
               "exported, now false (model.py:12); 1: 'x' is f32[2,1]");
  EXPECT_EQ(session.output(0).status().error(), Error::kFailedPrecondition);
  EXPECT_EQ(count_of_session(session), 5);
}

TEST(Variants, AnInputOfNoVariantIsRefusedWithAllShapes) {
  const Loaded bundle(test::branching_bundle());
  Session session = make(bundle.method());
  EXPECT_THAT(session.set_input(0, view_of(test::kBranchingUp, 3)).message(),
              HasSubstr("input 'x' takes f32[4,1] or f32[2,1], got f32[3,1]"));
  EXPECT_THAT(session.set_input(0, test::kBranchingUp, 12).message(),
              HasSubstr("takes f32[4,1] or f32[2,1], got 12 bytes"));
}

TEST(Variants, BytesOfTwoShapesNeedATensor) {
  test::BundleParts parts = test::branching_bundle();
  fb::MethodT& m = *parts.bundle.methods[0]->variants[1];
  m.samples.clear();
  m.values[0]->shape = {1, 4};
  m.values[0]->bytes = 16;
  m.values.back()->shape = {1, 4};
  m.values.back()->bytes = 16;
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  EXPECT_THAT(session.set_input(0, test::kBranchingUp, 16).message(),
              AllOf(HasSubstr("16 bytes are [4,1] as well as [1,4]"), HasSubstr("as a tensor")));
  const TensorView flat = {const_cast<float*>(test::kBranchingUp), DType::kFloat32, {1, 4}};
  ASSERT_TRUE(session.set_input(0, flat).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(*session.variant(), 2u);
}

TEST(Variants, ShareOneArena) {
  const Loaded bundle(test::branching_bundle());
  const SessionStats stats = make(bundle.method()).stats();
  EXPECT_EQ(stats.arena_bytes, bundle.method().arena_bytes() + 64) << "and the input's own place";
}

}  // namespace
}  // namespace lazyrt
