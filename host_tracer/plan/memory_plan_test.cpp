#include "host_tracer/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "host_tracer/passes/test_graph.h"
#include "host_tracer/plan/packing.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// The rules of FORMAT.md, "Memory", checked node by node without the planner's own bookkeeping:
/// every operand still holds what was written when its node runs.
void expect_valid(const Graph& g, const MemoryPlan& plan) {
  constexpr uint64_t kTail = kTailBytes;
  const auto range_end = [&](ValueId id) {
    const ValuePlan& v = plan.values[static_cast<size_t>(id)];
    return v.offset + v.bytes + kTail;
  };
  std::vector<ValueId> live = g.inputs();
  std::vector<int32_t> reads = g.use_counts();
  for (ValueId id : g.inputs()) ++reads[static_cast<size_t>(id)];  // kept during the whole run
  for (const GraphGuard& guard : g.guards()) --reads[static_cast<size_t>(guard.value)];  // at once
  const auto check_free = [&](ValueId id, ValueId but) {
    for (ValueId other : live) {
      if (other == but || reads[static_cast<size_t>(other)] <= 0) continue;
      const bool apart = range_end(other) <= plan.values[static_cast<size_t>(id)].offset ||
                         range_end(id) <= plan.values[static_cast<size_t>(other)].offset;
      EXPECT_TRUE(apart) << "%" << id << " over %" << other << "\n" << graph_text(g, false);
    }
  };
  for (const Node& node : g.nodes()) {
    const OpDef& def = *g.ops().find(node.attrs.view())->def;
    for (ValueId out : node.outputs) {
      const ValuePlan& v = plan.values[static_cast<size_t>(out)];
      EXPECT_EQ(v.offset % kAlignment, 0u);
      EXPECT_LE(range_end(out), plan.arena_bytes);
      if (v.alias_of == kNoValue) {
        check_free(out, kNoValue);
        live.push_back(out);
        continue;
      }
      EXPECT_EQ(out, node.outputs[0]);
      EXPECT_EQ(v.offset, plan.values[static_cast<size_t>(v.alias_of)].offset);
      EXPECT_EQ(v.bytes, plan.values[static_cast<size_t>(v.alias_of)].bytes);
      EXPECT_NE(g.value(v.alias_of).kind, ValueKind::kConstant);
      EXPECT_NE(g.value(v.alias_of).kind, ValueKind::kState);
      if (!def.is_view) {
        for (ValueId id : node.inputs) reads[static_cast<size_t>(id)] -= id == v.alias_of ? 1 : 0;
        EXPECT_EQ(g.value(v.alias_of).kind, ValueKind::kNode);
        check_free(out, kNoValue);
        for (ValueId id : node.inputs) reads[static_cast<size_t>(id)] += id == v.alias_of ? 1 : 0;
      } else {
        EXPECT_EQ(v.alias_of, node.inputs[0]);
      }
      live.push_back(out);
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) --reads[static_cast<size_t>(id)];
    }
  }
}

MemoryPlan planned(TestGraph& t) {
  t.g.remove_dead();
  t.g.compact();
  MemoryPlan plan = plan_memory(t.g);
  expect_valid(t.g, plan);
  EXPECT_GE(plan.arena_bytes, plan.lower_bound);
  return plan;
}

TEST(MemoryPlan, ChainInPlaceUsesOneBuffer) {
  TestGraph t;
  ValueId x = t.input({1000});
  for (int i = 0; i < 5; ++i) x = t.unary(UnaryFn::Exp, x);
  t.output(x);
  const MemoryPlan plan = planned(t);
  EXPECT_EQ(plan.in_place, 4u);            // not over the input
  EXPECT_EQ(plan.arena_bytes, 2u * 4032);  // 4000 + tail, rounded up to 64
  EXPECT_EQ(plan.lower_bound, plan.arena_bytes);
}

TEST(MemoryPlan, AReserveHasRoomForEachValueAtItsLargest) {
  // One grows where the other shrinks: no single size has both at their largest.
  std::vector<MemoryPlan> plans;
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{1000, 10}, {10, 1000}}) {
    TestGraph t;
    const ValueId x = t.input({a}), y = t.input({b});
    t.output(t.unary(UnaryFn::Exp, x));
    t.output(t.unary(UnaryFn::Exp, y));
    plans.push_back(planned(t));
    EXPECT_EQ(plans.back().arena_bytes, 2u * (4032 + 64));
  }
  EXPECT_EQ(reserved_arena(plans), 4u * 4032);
  EXPECT_EQ(reserved_arena({plans[0]}), plans[0].arena_bytes);
}

TEST(MemoryPlan, NotOverWhatIsReadLaterOrReturned) {
  TestGraph t;
  const ValueId x = t.unary(UnaryFn::Exp, t.input({100}));
  const ValueId y = t.unary(UnaryFn::Tanh, x);  // x is read again
  const ValueId z = t.binary(BinaryFn::Add, x, y);
  t.output(y);
  t.output(t.unary(UnaryFn::Neg, z));
  const MemoryPlan plan = planned(t);
  EXPECT_EQ(plan.values[static_cast<size_t>(t.g.outputs()[0].value)].alias_of, kNoValue);
}

TEST(MemoryPlan, NotOverAnOperandThatIsAlsoReadOtherwise) {
  TestGraph t;
  const ValueId a = t.unary(UnaryFn::Exp, t.input({4, 4}));
  t.output(t.node(fb::TriangularSolveT(), {a, a}));
  EXPECT_EQ(planned(t).in_place, 0u);
  TestGraph twice;
  const ValueId x = twice.unary(UnaryFn::Exp, twice.input({4, 4}));
  twice.output(twice.binary(BinaryFn::Add, x, x));
  EXPECT_EQ(planned(twice).in_place, 1u);
}

TEST(MemoryPlan, ViewsShareAndProlong) {
  TestGraph t;
  const ValueId x = t.unary(UnaryFn::Exp, t.input({4, 5}));
  const ValueId view = t.reshape(x, {20});
  const ValueId y = t.unary(UnaryFn::Tanh, x);  // must not overwrite: the view is read later
  t.output(t.binary(BinaryFn::Add, view, t.reshape(y, {20})));
  const MemoryPlan plan = planned(t);
  EXPECT_EQ(plan.views, 2u);
  EXPECT_EQ(plan.in_place, 1u);
}

TEST(MemoryPlan, ViewOfAnInput) {
  TestGraph t;
  const ValueId x = t.input({4, 5});
  t.output(t.reshape(x, {20}));
  const MemoryPlan plan = planned(t);
  EXPECT_EQ(plan.values[1].alias_of, t.g.inputs()[0]);
}

TEST(MemoryPlan, StatesAreApartAndTheirNextValuesStay) {
  TestGraph t;
  const ValueId x = t.input({100});
  const float zeros[100] = {};
  const ConstantData first =
      t.g.value(t.g.add_constant("", DType::kFloat32, {100}, zeros)).constant;
  const ValueId h = t.g.add_state("h", DType::kFloat32, {100}, first);
  const ValueId view = t.reshape(h, {10, 10});  // a copy: h changes at the end
  const ValueId next = t.unary(UnaryFn::Exp, x);
  t.g.states()[0].next = next;
  t.g.guards().push_back({t.mean(next, {0}, false), true, "g", {}});
  ValueId y = t.unary(UnaryFn::Exp, view);
  for (int i = 0; i < 3; ++i) y = t.unary(UnaryFn::Tanh, t.unary(UnaryFn::Neg, y));
  t.output(y);
  const MemoryPlan plan = planned(t);
  EXPECT_EQ(plan.views, 0u);
  const auto state = static_cast<size_t>(t.g.states()[0].value);
  EXPECT_EQ(plan.values[state].offset, 0u);
  for (const Allocation& a : plan.allocations) {
    EXPECT_NE(a.owner, t.g.states()[0].value);
    if (a.owner != t.g.states()[0].next) continue;
    EXPECT_EQ(a.last, static_cast<int32_t>(t.g.nodes().size()));
  }
}

TEST(MemoryPlan, UnreadResultsAndEmptyTensors) {
  TestGraph t;
  fb::TopKT topk;
  topk.k = 1;
  auto made = t.g.add_node(Attrs::of(topk), {t.input({3})}, Source());
  ASSERT_TRUE(made.ok());
  t.output((*made)[1]);
  t.output(t.unary(UnaryFn::Exp, t.input({0, 4})));
  planned(t);
}

TEST(MemoryPlan, ConstantOutputsNeedNoArena) {
  TestGraph t;
  t.output(t.weight({5}));
  EXPECT_EQ(planned(t).arena_bytes, 0u);
}

TEST(MemoryPlan, RandomGraphs) {
  const uint32_t start = std::random_device()();
  std::printf("seed %u\n", start);
  for (uint32_t seed = start; seed != start + 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TestGraph t(seed);
    std::vector<ValueId> values = {t.input({6, 4}), t.input({2, 12})};
    for (int i = 0; i < 30; ++i) {
      const ValueId x = values[t.random() % values.size()];
      const ValueId near =
          values[values.size() - 1 - t.random() % std::min<size_t>(3, values.size())];
      switch (t.random() % 5) {
        case 0:
          values.push_back(t.unary(UnaryFn::Tanh, near));
          break;
        case 1:
          values.push_back(t.reshape(near, {4, t.g.value(near).shape.numel() / 4}));
          break;
        case 2:
          values.push_back(t.reshape(x, {t.g.value(x).shape.numel()}));
          break;
        case 3: {
          const ValueId a = t.reshape(x, {t.g.value(x).shape.numel()});
          const ValueId b = t.reshape(near, {t.g.value(near).shape.numel()});
          if (t.g.value(a).shape == t.g.value(b).shape) {
            values.push_back(t.binary(BinaryFn::Add, a, b));
          } else {
            values.push_back(t.node(fb::ConcatT(), {a, b}));
          }
          break;
        }
        default:
          values.push_back(
              t.permute(t.reshape(near, {2, t.g.value(near).shape.numel() / 2}), {1, 0}));
      }
      if (t.g.value(values.back()).shape.numel() > 4096) values.pop_back();
    }
    t.output(values.back());
    t.output(values[values.size() / 2]);
    t.output(values[0]);
    const MemoryPlan plan = planned(t);
    const MemoryPlan again = plan_memory(t.g);
    for (size_t i = 0; i < plan.values.size(); ++i) {
      EXPECT_EQ(plan.values[i].offset, again.values[i].offset);
    }
    if (HasFailure()) return;
  }
}

TEST(Packing, RandomLifetimesDoNotOverlap) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  double used = 0, bound = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<Allocation> a;
    const int n = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < n; ++i) {
      const int first = static_cast<int>(random() % 40);
      a.push_back({i, first, first + static_cast<int>(random() % 10), 0, 64 * (1 + random() % 50)});
    }
    const uint64_t total = pack(&a);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_LE(a[i].offset + a[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const bool in_time = a[i].first <= a[j].last && a[j].first <= a[i].last;
        const bool in_space =
            a[i].offset < a[j].offset + a[j].bytes && a[j].offset < a[i].offset + a[i].bytes;
        EXPECT_FALSE(in_time && in_space);
      }
    }
    used += static_cast<double>(total);
    bound += static_cast<double>(peak_bytes(a));
  }
  EXPECT_LE(used, 1.15 * bound);
}

TEST(Packing, TakesTimeInProportion) {  // a quadratic one takes a quarter of an hour
  std::vector<Allocation> a;
  constexpr int kCount = 400'000;
  for (int i = 0; i < kCount; ++i) {
    a.push_back(
        {i, i - 1, i % 1000 == 0 ? i + 5000 : i + 1, 0, 64 * (1 + uint64_t{7919} * i % 50)});
  }
  const uint64_t bound = peak_bytes(a);
  EXPECT_LE(pack(&a), bound * 130 / 100);
}

}  // namespace
}  // namespace lazyrt
