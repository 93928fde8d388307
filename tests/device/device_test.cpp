// Sessions over several memories: the same numbers, each value copied once, nothing touched that is
// not one's own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "tests/conformance/case_table.h"
#include "tests/device/doubled_case.h"
#include "tests/device/far_test.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/dynamic_inputs.h"
#include "tests/support/fault_walk.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::bytes_of;
using test::double_case;
using test::DoubledCase;
using test::Far;
using test::far_counts;
using test::far_rules;
using test::Lines;
using test::Loaded;
using testing::HasSubstr;

// One node of each case far away and the same here; what each makes is read by the other side.

TEST_F(Far, EveryCaseGivesTheReferencesBytes) {
  int ran = 0;
  for (const CaseRef& c : case_refs()) {
    SCOPED_TRACE(c.id());
    DoubledCase bundle;
    if (!double_case(*c.op_case, &bundle)) continue;
    const Loaded loaded(bundle.parts, default_ops());
    if (!loaded.program.ok()) continue;
    int asked = 0;  // far: the first node and the reshape of the second
    far_rules().takes = [&](const OpEntry&, const NodeSpec&) { return asked++ % 3 == 0; };
    Result<Session> session = Session::create(loaded.method(), on(far_reference_));
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (size_t i = 0; i < bundle.inputs.size(); ++i)
      ASSERT_TRUE(session->set_input(i, bundle.inputs[i].view()).ok());
    const Status status = session->run();
    EXPECT_FALSE(test::far_memory_is_open());
    if (c.op_case->refused_at_run) {
      EXPECT_EQ(status.error(), Error::kOutOfRange) << status.message();
      EXPECT_THAT(status.message(), HasSubstr("node 0"));
      continue;
    }
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<uint8_t> first = bytes_of(*session->output(0));
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(bytes_of(*session->output(i)), first) << i;
    ++ran;
  }
  EXPECT_GT(ran, 1000);
}

class FarMixed : public Far {
 protected:
  void set_inputs(Session* session) {
    ASSERT_TRUE(session->set_input(0, image_.data(), image_.size() * sizeof(float)).ok());
    ASSERT_TRUE(session->set_input(1, ids_, sizeof(ids_)).ok());
  }
  std::vector<std::vector<float>> run(Session* session) {
    set_inputs(session);
    const Status status = session->run();
    EXPECT_TRUE(status.ok()) << status.message();
    return {test::floats(*session, 0), test::floats(*session, 1)};
  }

  const Loaded mixed_{test::mixed_bundle(default_ops()), default_ops()};
  const std::vector<float> image_ = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids_[5] = {1, 9, 0, 3, 3};
};

TEST_F(FarMixed, AnySharesOfNodesGiveTheSameNumbers) {
  Session alone = test::make(mixed_.method(), on(*reference_backend()));
  const auto expected = run(&alone);
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const uint32_t part = random() % 5;
    far_rules().takes = [&](const OpEntry&, const NodeSpec&) { return random() % 5 <= part; };
    Session session = test::make(mixed_.method(), on(far_reference_));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(&session), expected);
    for (const auto& [copy, times] : Lines(session).copies_of) EXPECT_EQ(times, 1) << copy;
  }
}

TEST_F(FarMixed, BetweenTwoDevicesValuesGoByWayOfTheHost) {
  Session alone = test::make(mixed_.method(), on(*reference_backend()));
  const auto expected = run(&alone);
  const test::FarBackend farther = test::far_backend(&far_reference_);
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    far_rules().takes = [&](const OpEntry&, const NodeSpec&) {
      return seed == 0 ? random() % 2 == 0 : random() % 8 < 3;
    };
    far_rules().compiles = [&](const SegmentSpec&) { return random() % 8 != 0; };
    Session session = test::make(mixed_.method(), on(farther));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(&session), expected);
  }
}

TEST_F(FarMixed, AWholeMethodIsOneSegment) {
  Session session = test::make(mixed_.method(), on(far_cpu_, true));
  far_counts().reset();
  run(&session);
  const Lines lines(session);
  EXPECT_EQ(lines.nodes_here, 0);
  EXPECT_EQ(far_counts().segments, 1);
  EXPECT_EQ(far_counts().copies_in, 2);
  EXPECT_EQ(far_counts().copies_out, 3);
  EXPECT_EQ(lines.copies, 5);
  EXPECT_STREQ(session.node(0)->op, "copy_in");
  EXPECT_STREQ(session.node(0)->value, "image");
  EXPECT_EQ(session.node(0)->copied_bytes, 12u * 12 * 3 * 4);
  EXPECT_STREQ(session.node(2)->backend, "far");
  EXPECT_EQ(session.node(2)->runs, 1u);
  EXPECT_GT(session.node(2)->nanoseconds, 0u) << "of the whole segment";
  EXPECT_EQ(session.node(3)->nanoseconds, 0u);
  EXPECT_GT(session.stats().device_bytes, session.stats().arena_bytes);
}

TEST_F(FarMixed, TimesOfNodesAreTheDevices) {
  far_rules().takes_time = [](const OpEntry& op) { return uint64_t{1000} + op.name[0]; };
  const test::FarBackend backend = test::far_backend(cpu_backend());
  Session session = test::make(mixed_.method(), on(backend, true));
  for (int i = 0; i < 2; ++i) run(&session);
  uint64_t total = 0;
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo info = *session.node(i);
    EXPECT_EQ(info.runs, 2u);
    if (info.is_copy) continue;
    EXPECT_EQ(info.nanoseconds, 2 * (1000u + static_cast<unsigned char>(info.op[0]))) << i;
    total += info.nanoseconds;
  }
  EXPECT_GT(total, 20 * 2000u);
}

/// Its memory holds nothing else of a segment behind it: the device spoils the rest (in all tests).
TEST_F(FarMixed, SegmentsAreToldWhatIsReadOutside) {
  const BundleParts parts = test::mixed_bundle(default_ops());
  const fb::MethodT& method = *parts.bundle.methods[0];
  size_t told = 0;
  far_rules().compiled = [&](const SegmentSpec& spec) {
    std::vector<int32_t> expected;
    for (const SegmentNode& node : spec.nodes) {
      const fb::NodeT& in_file = *method.nodes[node.index];
      std::vector<int32_t> values = in_file.inputs;
      values.insert(values.end(), in_file.outputs.begin(), in_file.outputs.end());
      EXPECT_EQ(std::vector<int32_t>(node.values.begin(), node.values.end()), values);
      for (const int32_t id : in_file.outputs) {
        bool is_read = false;
        for (const auto& output : method.outputs) is_read = is_read || output->value == id;
        for (size_t n = spec.nodes[spec.nodes.size() - 1].index + 1; n < method.nodes.size(); ++n) {
          const auto& inputs = method.nodes[n]->inputs;
          is_read = is_read || std::find(inputs.begin(), inputs.end(), id) != inputs.end();
        }
        if (is_read) expected.push_back(id);
      }
    }
    EXPECT_EQ(std::vector<int32_t>(spec.leaving.begin(), spec.leaving.end()), expected);
    told += expected.size();
  };
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    take_half(seed, &random);
    const Session session = test::make(mixed_.method(), on(far_reference_));
  }
  EXPECT_GT(told, 100u);
}

TEST_F(FarMixed, ConstantsGoThereOnceAProgram) {
  Session first = test::make(mixed_.method(), on(far_cpu_));
  const int constants = far_counts().constants;
  EXPECT_GT(constants, 3);
  EXPECT_GT(first.stats().packed_weight_bytes, 0u);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Session session = test::make(mixed_.method(), on(far_cpu_));
      const auto expected = run(&session);
      for (int k = 0; k < 5; ++k) EXPECT_EQ(run(&session), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(far_counts().constants, constants);
}

TEST_F(FarMixed, OnlyConstantsThatItsNodesReadGoThere) {
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) {
    return op.kind == fb::OpAttrs::Conv2d;
  };
  Session session = test::make(mixed_.method(), on(far_cpu_));
  run(&session);
  size_t read = 0;
  for (size_t i = 0; i < session.node_count(); ++i)
    read += session.node(i)->op == std::string("conv2d") ? 2 : 0;
  EXPECT_EQ(far_counts().constants, read) << "a kernel and a bias each";
}

/// As an application has it: a device that outlives Programs, and that none of ours opened.
TEST_F(FarMixed, ADeviceOfTheCallers) {
  test::FarMachine mine;
  const test::FarBackend backend = test::far_backend(cpu_backend(), &mine);
  for (int i = 0; i < 2; ++i) {
    const Loaded program{test::mixed_bundle(default_ops()), default_ops()};
    Session one = test::make(program.method(), on(backend));
    Session another = test::make(program.method(), on(backend));
    EXPECT_EQ(run(&one), run(&another));
  }
  EXPECT_EQ(mine.counts.segments, 4);
  EXPECT_EQ(mine.counts.blocks, 0);
  EXPECT_EQ(far_counts().segments, 0);
}

TEST_F(FarMixed, WhatCannotBeCompiledGoesOn) {
  far_rules().compiles = [](const SegmentSpec& spec) { return spec.nodes.size() == 0; };
  Session session = test::make(mixed_.method(), on(far_cpu_));
  run(&session);
  const Lines lines(session);
  EXPECT_EQ(lines.nodes_far, 0);
  EXPECT_EQ(lines.copies, 0);
  EXPECT_EQ(far_counts().constants, 0);
  EXPECT_STREQ(session.node(0)->fallback_reason, "far cannot compile this");
}

TEST_F(FarMixed, ADeviceThatIsNotThereIsAskedOnce) {
  far_rules().opens = [] { return false; };
  Session session = test::make(mixed_.method(), on(far_cpu_));
  run(&session);
  EXPECT_EQ(far_counts().opened, 1);
  EXPECT_EQ(Lines(session).nodes_far, 0);
  EXPECT_STREQ(session.node(3)->fallback_reason, "backend far: there is no such device");
  const test::FarBlock there(1024);
  EXPECT_THAT(session.bind_output(0, there.address(), 1024, &far_cpu_).message(),
              HasSubstr("there is no such device"));
  EXPECT_EQ(far_counts().opened, 1);
}

TEST_F(FarMixed, OneNodeThatIsRefusedMovesAlone) {
  Session alone = test::make(mixed_.method(), on(*reference_backend()));
  const auto expected = run(&alone);
  const size_t nodes = alone.node_count();
  for (size_t node = 0; node < nodes; ++node) {
    SCOPED_TRACE(node);
    far_rules().refuses = [node](const SegmentNode& n) { return n.index == node; };
    far_counts().reset();
    Session session = test::make(mixed_.method(), on(far_reference_));
    EXPECT_LE(far_counts().compilations, 3);
    EXPECT_EQ(run(&session), expected);
    const Lines lines(session);
    EXPECT_EQ(lines.nodes_here, 1);
    for (size_t i = 0; i < session.node_count(); ++i) {
      const NodeInfo info = *session.node(i);
      if (info.is_copy || info.backend == std::string("far")) continue;
      EXPECT_EQ(info.fallback_reason, "far refuses " + std::string(info.op));
    }
  }
}

TEST_F(FarMixed, BoundInputsAreCopiedFromWhereTheyAre) {
  Session session = test::make(mixed_.method(), on(far_reference_));
  const auto expected = run(&session);
  alignas(64) float mine[12 * 12 * 3 + 16] = {};
  ASSERT_TRUE(session.bind_input(0, {mine, DType::kFloat32, {1, 12, 12, 3}}, sizeof(mine)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_NE(test::floats(session, 0), expected[0]);
  std::copy(image_.begin(), image_.end(), mine);
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(test::floats(session, 0), expected[0]);
}

/// In load, create, run, at other sizes, with states and taps.
TEST_F(Far, EveryAllocationMayFailOnce) {
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) { return op.name[0] > 'e'; };
  for (int which = 0; which < test::kWalkScripts; ++which) {
    test::WalkScript script = test::walk_script(which, default_ops());
    test::WalkWatch seen;
    const Watch watch = seen.watch();
    size_t said = 0, n = 0;
    for (bool done = false; !done; ++n) {
      ASSERT_LT(n, 20000u);
      test::FailOnce memory(n == 0 ? SIZE_MAX : n - 1);
      {
        SessionOptions options = on(far_cpu_);
        options.allocator = memory.hooks();
        options.watch = &watch;
        test::FaultWalk walk(&script, options);
        said += walk.go();
        ASSERT_STREQ(walk.wrong(), "") << which << ", allocation " << n;
      }
      ASSERT_EQ(memory.live(), 0) << which << ", allocation " << n;
      ASSERT_EQ(far_counts().blocks, 0);
      done = n != 0 && !memory.failed();
    }
    EXPECT_EQ(said, n - 2);
    EXPECT_GT(seen.values, 0u);
  }
}

TEST_F(FarMixed, EveryAllocationMayFail) {
  struct FailOnce {
    int left = 0;
    size_t live = 0;
  };
  for (int n = 0, failures = 0;; ++n) {
    FailOnce memory{n};
    SessionOptions options = on(far_cpu_);
    options.allocator = {&memory,
                         [](void* self, size_t bytes, size_t alignment) -> void* {
                           auto* count = static_cast<FailOnce*>(self);
                           if (count->left-- == 0) return nullptr;
                           ++count->live;
                           const size_t unit = std::max<size_t>(alignment, 16);
                           return std::aligned_alloc(unit, (bytes + unit) / unit * unit);
                         },
                         [](void* self, void* p) {
                           if (p != nullptr) --static_cast<FailOnce*>(self)->live;
                           std::free(p);
                         }};
    far_rules().takes = [](const OpEntry& op, const NodeSpec&) { return op.name[0] > 'e'; };
    bool made = false;
    {
      const Result<Session> session = Session::create(mixed_.method(), options);
      made = session.ok();
      failures += made ? 0 : 1;
      EXPECT_EQ(session.status().error(), made ? Error::kOk : Error::kOutOfMemory);
    }
    EXPECT_EQ(memory.live, 0u);
    if (memory.left >= 0) {
      EXPECT_TRUE(made);
      EXPECT_GT(failures, 30);
      break;
    }
  }
}

TEST_F(Far, GuardsStatesAndVariants) {
  const Loaded bundle(test::branching_bundle(), default_ops());
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed, &random);
    Session session = test::make(bundle.method(), on(far_reference_));
    Session alone = test::make(bundle.method(), on(*reference_backend()));
    for (int round = 0; round < 3; ++round) {
      for (const float* x : {test::kBranchingUp, test::kBranchingDown}) {
        for (Session* s : {&session, &alone}) {
          ASSERT_TRUE(s->set_input(0, x, 16).ok());
          ASSERT_TRUE(s->run().ok());
        }
        EXPECT_EQ(*session.variant(), *alone.variant());
        EXPECT_EQ(test::floats(session, 0), test::floats(alone, 0));
        EXPECT_EQ(*session.state(0)->as<float>(), *alone.state(0)->as<float>());
      }
    }
    EXPECT_EQ(session.stats().guard_refusals, 3u);
  }
}

TEST_F(Far, OtherSizes) {
  const Loaded bundle(test::dynamic_bundle());
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed / 2, &random);
    far_rules().is_mapped = seed % 2 == 0;
    Session session = test::make(bundle.method(), on(far_reference_));
    for (const int64_t n : {6, 512, 2, 6}) {
      test::DynamicInputs inputs(4, n, static_cast<uint32_t>(random()));
      inputs.set(&session);
      const Status status = session.run();
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(test::floats(session, 0), inputs.total());
      EXPECT_FALSE(test::far_memory_is_open());
    }
    EXPECT_EQ(*session.state(0)->as<float>(), 4);
  }
}

TEST_F(Far, ItsArenaOnlyGrows) {
  const Loaded bundle(test::dynamic_bundle());
  for (const bool is_mapped : {false, true}) {
    far_rules().is_mapped = is_mapped;
    Session session = test::make(bundle.method(), on(far_reference_));
    uint64_t bytes = 0;
    for (const int64_t n : {512, 2, 6, 512, 300}) {
      far_counts().allocations = 0;
      test::DynamicInputs inputs(4, n, 1);
      inputs.set(&session);
      ASSERT_TRUE(session.run().ok());
      EXPECT_EQ(test::floats(session, 0), inputs.total());
      if (bytes == 0) {
        bytes = session.stats().device_bytes;
      } else {
        EXPECT_EQ(far_counts().allocations, 0) << n;
      }
      EXPECT_EQ(session.stats().device_bytes, bytes);
    }
  }
}

/// Where the host has the device's memory, too, nothing is copied but what callers bind.
TEST_F(FarMixed, UnifiedMemoryIsNotCopied) {
  Session alone = test::make(mixed_.method(), on(*reference_backend()));
  const auto expected = run(&alone);
  far_rules().is_mapped = true;
  Session session = test::make(mixed_.method(), on(far_reference_));
  far_counts().reset();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(&session), expected);
  EXPECT_EQ(far_counts().copies_in + far_counts().copies_out, 0);
  EXPECT_EQ(far_counts().submissions, 2);
  EXPECT_EQ(Lines(session).copied_bytes, 0u);
  alignas(64) float mine[12 * 12 * 3 + 16] = {};
  std::copy(image_.begin(), image_.end(), mine);
  alignas(64) float classes[20] = {};
  ASSERT_TRUE(session.bind_input(0, {mine, DType::kFloat32, {1, 12, 12, 3}}, sizeof(mine)).ok());
  ASSERT_TRUE(session.bind_output(0, classes, sizeof(classes)).ok());
  const test::FarBlock there(1024);
  ASSERT_TRUE(session.bind_output(2, there.address(), 1024, &far_reference_).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(std::vector<float>(classes, classes + 4), expected[0]);
  const std::vector<uint8_t> sequence = bytes_of(*alone.output(2));
  EXPECT_EQ(there.read(sequence.size()), sequence);
  EXPECT_EQ(far_counts().copies_in + far_counts().copies_out, 0);
}

TEST_F(FarMixed, UnifiedMemoryOfAnyShares) {
  Session alone = test::make(mixed_.method(), on(*reference_backend()));
  const auto expected = run(&alone);
  far_rules().is_mapped = true;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    far_rules().takes = [&](const OpEntry&, const NodeSpec&) { return random() % 3 != 0; };
    Session session = test::make(mixed_.method(), on(far_reference_));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(&session), expected);
  }
}

TEST_F(Far, ALateErrorIsTheRunsAndTheSessionGoesOn) {
  const Loaded tiny(test::tiny_bundle());
  Session session = test::make(tiny.method(), on(far_reference_));
  const int64_t bad[2] = {0, 2};
  ASSERT_TRUE(session.set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(session.set_input(1, bad, sizeof(bad)).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kOutOfRange);
  EXPECT_THAT(status.message(),
              HasSubstr("method 'forward', on far: node 0 (index_select): id 2 of 2 rows"));
  EXPECT_FALSE(session.output(0).ok());
  ASSERT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(test::floats(session, 0), testing::ElementsAreArray(test::kTinyTotal));
}

std::atomic<bool> g_host_ran{false};

Fault run_twice_and_tell(void* state, const RunContext& context) {
  g_host_ran = true;
  return test::tiny_ops().custom[0].entry.def->reference.run(state, context);
}

TEST_F(Far, TheHostGoesOnWhileTheDeviceRuns) {
  OpDef twice = *test::tiny_ops().custom[0].entry.def;
  twice.reference.run = run_twice_and_tell;
  CustomOpEntry custom = test::tiny_ops().custom[0];
  custom.entry.def = &twice;
  custom.entry.kernels[0] = &twice.reference;
  const OpTable ops = {test::tiny_ops().builtin, {&custom, 1}};
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int there = b.node(test::relu(), {x}, DType::kFloat32, {4});
  fb::CustomOpT attrs;
  attrs.name = "test.twice";
  attrs.version = 1;
  const int here = b.node(attrs, {x}, DType::kFloat32, {4});
  b.output("y", b.node(test::add(), {there, here}, DType::kFloat32, {4}));
  const Loaded bundle(parts, ops);
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) {
    return op.kind == fb::OpAttrs::Unary;
  };
  bool waited = true;
  far_rules().before_segment = [&] {  // as long as it takes the host to run what comes next
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!g_host_ran && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    waited = g_host_ran;
  };
  Session session = test::make(bundle.method(), on(far_reference_));
  const float data[] = {-1, 2, 3, -4};
  ASSERT_TRUE(session.set_input(0, data, sizeof(data)).ok());
  g_host_ran = false;
  ASSERT_TRUE(session.run().ok());
  EXPECT_TRUE(waited);
  EXPECT_EQ(test::floats(session, 0), (std::vector<float>{-2, 6, 9, -8}));
}

TEST_F(Far, AStoppedRunLeavesNothingUnderWay) {
  const Loaded tiny(test::tiny_bundle());
  std::atomic<bool> ended{false};
  far_rules().takes = [](const OpEntry& op, const NodeSpec&) {
    return op.kind == fb::OpAttrs::IndexSelect;
  };
  Session* running = nullptr;
  far_rules().before_segment = [&] {
    running->cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = true;
  };
  Session session = test::make(tiny.method(), on(far_reference_));
  running = &session;
  ASSERT_TRUE(session.set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(session.set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  EXPECT_EQ(session.run().error(), Error::kCancelled);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(test::far_memory_is_open());
}

TEST_F(Far, ItsMemoryCountsAgainstTheLimit) {
  const Loaded tiny(test::tiny_bundle());
  SessionOptions options = on(far_reference_);
  Session session = test::make(tiny.method(), options);
  options.memory_limit = session.stats().total_bytes - session.stats().device_bytes / 2;
  const Result<Session> refused = Session::create(tiny.method(), options);
  EXPECT_EQ(refused.status().error(), Error::kOutOfMemory);
  EXPECT_THAT(refused.status().message(), HasSubstr("SessionOptions::memory_limit"));
}

}  // namespace
}  // namespace lazyrt
