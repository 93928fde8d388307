// The whole pipeline on random graphs: valid after each pass, and the same numbers.

#include "host_tracer/passes/pipeline.h"

#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// Grows a graph from what is there by random steps, each of a kind that importers emit.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : t(seed) {
    images_.push_back(t.input({1 + pick(2), 1 + pick(4), 2 + pick(5), 2 + pick(5)}));
    for (int i = 0; i < 14; ++i) step();
    t.output(images_.back());
    t.output(images_[static_cast<size_t>(pick(static_cast<int64_t>(images_.size())))]);
    head();
  }
  TestGraph t;

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(t.random() % static_cast<uint64_t>(n)); }
  ValueId any() { return images_[static_cast<size_t>(pick(static_cast<int64_t>(images_.size())))]; }
  const Shape& shape(ValueId id) { return t.g.value(id).shape; }

  void step() {
    const ValueId x = pick(3) == 0 ? any() : images_.back();
    switch (pick(13)) {
      case 0:
      case 1:
        return images_.push_back(t.conv(x, 1 + pick(5), pick(2) == 0 ? 1 : 3, pick(2) == 0));
      case 2:
        return images_.push_back(t.batch_norm(x));
      case 3:
        return images_.push_back(pointwise(x));
      case 4:
        return images_.push_back(combine(x));
      case 5:
        return images_.push_back(gated(x));
      case 6:
        return images_.push_back(joined(x));
      case 7:
        return images_.push_back(sliced(x));
      case 8:
        return images_.push_back(through_tokens(x));
      case 9:
        return images_.push_back(normalized(x));
      case 10:
        return images_.push_back(permuted_twice(x));
      case 11:
        return images_.push_back(padded(x));
      default:
        return images_.push_back(with_constant(x));
    }
  }

  ValueId pointwise(ValueId x) {
    static constexpr UnaryFn kFns[] = {UnaryFn::Relu, UnaryFn::Tanh, UnaryFn::Hardswish,
                                       UnaryFn::Clamp, UnaryFn::Sigmoid};
    return t.unary(kFns[pick(5)], x, -0.5, 0.75);
  }

  ValueId combine(ValueId x) {
    for (ValueId y : images_) {
      if (y != x && shape(y) == shape(x)) return t.binary(BinaryFn::Add, x, y);
    }
    return t.binary(BinaryFn::Sub, x, t.unary(UnaryFn::Tanh, x));
  }

  ValueId gated(ValueId x) {
    ValueId gate = t.mean(x, {2, 3}, true);
    if (pick(2) == 0) gate = t.conv(gate, shape(x)[1], 1, true);
    if (pick(2) == 0) gate = t.reshape(t.reshape(gate, {shape(x)[0], shape(x)[1]}), shape(gate));
    return t.binary(BinaryFn::Mul, x, t.unary(UnaryFn::Sigmoid, gate));
  }

  ValueId joined(ValueId x) {
    fb::ConcatT concat;
    concat.axis = 1;
    for (ValueId y : images_) {
      const Shape &a = shape(x), &b = shape(y);
      if (y != x && a[0] == b[0] && a[2] == b[2] && a[3] == b[3]) return t.node(concat, {x, y});
    }
    concat.axis = 3;
    return t.node(concat, {x, t.unary(UnaryFn::Tanh, x)});
  }

  ValueId sliced(ValueId x) {
    fb::SliceT slice;
    for (int64_t d : shape(x)) {
      const int64_t start = pick(d), size = 1 + pick(d - start);
      slice.starts.push_back(pick(2) == 0 ? 0 : start);
      slice.sizes.push_back(pick(2) == 0 && slice.starts.back() == 0 ? d : size);
      slice.steps.push_back(1);
    }
    slice.starts[0] = 0;
    slice.sizes[0] = shape(x)[0];
    return t.node(slice, {x});
  }

  /// [N,C,H,W] -> [N,HW,C] -> linear, layer norm -> back.
  ValueId through_tokens(ValueId x) {
    const Shape s = shape(x);
    ValueId y = t.permute(t.reshape(x, {s[0], s[1], s[2] * s[3]}), {0, 2, 1});
    y = t.node(fb::MatMulT(), {y, t.weight({s[1], s[1]})});
    y = t.binary(BinaryFn::Add, y, t.weight({s[1]}));
    if (pick(2) == 0) y = t.node(fb::LayerNormT(), {y, t.weight({s[1]}), t.weight({s[1]})});
    return t.reshape(t.permute(y, {0, 2, 1}), s);
  }

  ValueId normalized(ValueId x) {
    if (pick(2) == 0) return t.node(fb::GroupNormT(), {x, kNoValue, kNoValue});
    fb::SoftmaxT softmax;
    softmax.axis = static_cast<int32_t>(1 + pick(3));
    return t.node(softmax, {x});
  }

  ValueId permuted_twice(ValueId x) {
    std::vector<int32_t> perm = {0, 1, 2, 3};
    std::shuffle(perm.begin(), perm.end(), t.random);
    return t.permute(t.unary(UnaryFn::Tanh, t.permute(x, perm)), inverse(perm));
  }

  ValueId padded(ValueId x) {
    fb::PadT pad;
    pad.before = {0, pick(2), pick(3), 0};
    pad.after = {0, pick(2), pick(2), pick(2)};
    pad.value = 0.5;
    return t.node(pad, {x});
  }

  ValueId with_constant(ValueId x) {
    const Shape s = shape(x);
    const Shape shapes[] = {{},           {s[3]}, {s[1], 1, 1}, {1, s[1], 1, 1}, {s[2], s[3]},
                            {1, 1, 1, 1}, s};
    const Shape& c = shapes[pick(7)];
    static constexpr BinaryFn kFns[] = {BinaryFn::Add, BinaryFn::Mul, BinaryFn::Maximum};
    const BinaryFn fn = kFns[pick(3)];
    if (pick(3) > 0) return t.binary(fn, x, pick(4) == 0 ? t.scalar(1) : t.weight(c));
    fb::ExpandT expand;
    expand.shape = to_vector(s);
    return t.binary(fn, t.node(expand, {t.unary(UnaryFn::Tanh, t.weight(c))}), x);
  }

  void head() {
    const ValueId x = images_.back();
    const Shape s = shape(x);
    const int64_t columns = s[1] * s[2] * s[3];
    const ValueId flat = t.reshape(x, {s[0], columns});
    t.output(t.node(fb::LinearT(), {flat, t.weight({3, columns}), t.weight({3})}));
  }

  std::vector<ValueId> images_;
};

TEST(Pipeline, RandomGraphsComputeTheSame) {
  const uint32_t start = std::random_device()();
  std::printf("seed %u\n", start);
  for (uint32_t seed = start; seed != start + 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomGraph random(seed);
    ASSERT_TRUE(verify_graph(random.t.g).ok());
    Graph g = random.t.g;
    auto reports = run_pipeline(g, default_pipeline());
    ASSERT_TRUE(reports.ok()) << reports.failure().text << graph_text(random.t.g, false);
    expect_same(random.t.g, g, 2e-4, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Pipeline, SecondRunChangesNothing) {
  for (uint32_t seed = 1; seed < 20; ++seed) {
    Graph g = RandomGraph(seed).t.g;
    ASSERT_TRUE(run_pipeline(g, default_pipeline()).ok());
    const std::string once = graph_text(g);
    ASSERT_TRUE(run_pipeline(g, default_pipeline()).ok());
    EXPECT_EQ(graph_text(g), once) << "seed " << seed;
  }
}

TEST(Pipeline, ReportsAndHooks) {
  TestGraph t;
  t.output(t.binary(BinaryFn::Mul, t.input({2}), t.scalar(1)));
  std::vector<std::string> seen;
  PipelineOptions options;
  options.after = [&](const Pass& pass, const Graph&) { seen.push_back(pass.name); };
  auto reports = run_pipeline(t.g, default_pipeline(), options);
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(seen.size(), default_pipeline().size());
  EXPECT_EQ((*reports)[0].name, "simplify");
  EXPECT_EQ((*reports)[0].nodes_before, 1u);
  EXPECT_EQ((*reports)[0].nodes_after, 0u);
  EXPECT_EQ((*reports)[0].changes, 1u);
}

TEST(Pipeline, NamesThePassThatBreaksTheGraph) {
  TestGraph t;
  const ValueId x = t.input({2});
  t.output(t.unary(UnaryFn::Exp, x));
  const Pipeline broken = {{"break_it", [](Graph& g) -> Outcome<size_t> {
                              g.value(g.outputs()[0].value).shape = Shape({3});
                              return size_t{1};
                            }}};
  auto reports = run_pipeline(t.g, broken);
  ASSERT_FALSE(reports.ok());
  EXPECT_NE(reports.failure().text.find("break_it"), std::string::npos);
  EXPECT_NE(reports.failure().text.find("shape rule says f32[2]"), std::string::npos);
}

TEST(Pipeline, OnSeveralSizesAPassRunsAsItsRowSays) {
  const auto changes = [](size_t n) { return [n](Graph&) -> Outcome<size_t> { return n; }; };
  const Pipeline sized = at_sizes({{"same", changes(1)},
                                   {"other", changes(2), changes(3)},
                                   {"none", changes(4), PassFunction()}});
  TestGraph t;
  t.output(t.input({2}));
  const auto reports = run_pipeline(t.g, sized);
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ((*reports)[0].changes, 1u);
  EXPECT_EQ((*reports)[1].name, "other");
  EXPECT_EQ((*reports)[1].changes, 3u);
}

}  // namespace
}  // namespace lazyrt
