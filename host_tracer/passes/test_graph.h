#pragma once

// For tests: a graph built in a few words, its text, and whether two graphs compute the same.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "host_tracer/graph/elements.h"
#include "host_tracer/graph/evaluate.h"
#include "host_tracer/graph/graph.h"
#include "host_tracer/passes/pass_util.h"
#include "lazyrt/runtime.h"

namespace lazyrt {

class TestGraph {
 public:
  explicit TestGraph(uint32_t seed = 1) : random(seed) {}

  ValueId input(const Shape& shape, DType dtype = DType::kFloat32) {
    return g.add_input("x" + std::to_string(g.inputs().size()), dtype, shape);
  }
  /// Normally distributed elements.
  ValueId weight(const Shape& shape, const std::string& name = "w") {
    std::vector<double> elements(static_cast<size_t>(shape.numel()));
    for (double& e : elements) e = std::normal_distribution<double>()(random);
    return add_elements(g, name, DType::kFloat32, shape, elements);
  }
  /// Elements in [0.5, 1.5): variances, scales.
  ValueId positive(const Shape& shape, const std::string& name = "p") {
    std::vector<double> elements(static_cast<size_t>(shape.numel()));
    for (double& e : elements) e = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    return add_elements(g, name, DType::kFloat32, shape, elements);
  }
  ValueId scalar(double value) { return g.add_scalar(DType::kFloat32, value); }

  ValueId node(const Attrs& attrs, const std::vector<ValueId>& inputs) {
    auto made = g.add(attrs, inputs, Source());
    if (!made.ok()) {
      ADD_FAILURE() << made.failure().text;
      return inputs[0];
    }
    return *made;
  }
  template <class TableT>
  ValueId node(const TableT& table, const std::vector<ValueId>& inputs) {
    return node(Attrs::of(table), inputs);
  }
  ValueId unary(fb::UnaryFn fn, ValueId x, double alpha = 0, double beta = 0) {
    fb::UnaryT t;
    t.fn = fn;
    t.alpha = alpha;
    t.beta = beta;
    return node(t, {x});
  }
  ValueId binary(fb::BinaryFn fn, ValueId a, ValueId b) {
    fb::BinaryT t;
    t.fn = fn;
    return node(t, {a, b});
  }
  ValueId permute(ValueId x, const std::vector<int32_t>& perm) {
    return node(permute_attrs(perm), {x});
  }
  ValueId reshape(ValueId x, const Shape& shape) { return node(reshape_attrs(shape), {x}); }
  ValueId to_last(ValueId x) { return permute(x, {0, 2, 3, 1}); }
  ValueId to_first(ValueId x) { return permute(x, {0, 3, 1, 2}); }
  /// A convolution as the importer emits it: NCHW in, NCHW out, stride 1, same size for odd
  /// kernels.
  ValueId conv(ValueId x, int64_t channels, int kernel, bool bias = false) {
    fb::Conv2dT t;
    t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = kernel / 2;
    const int64_t in = g.value(x).shape[1];
    const ValueId w = weight({channels, kernel, kernel, in}, "conv.weight");
    const ValueId b = bias ? weight({channels}, "conv.bias") : kNoValue;
    return to_first(node(t, {to_last(x), w, b}));
  }
  ValueId batch_norm(ValueId x) {
    const int64_t c = g.value(x).shape[1];
    return node(fb::BatchNormT(), {x, positive({c}, "bn.weight"), weight({c}, "bn.bias"),
                                   weight({c}, "bn.mean"), positive({c}, "bn.var")});
  }
  ValueId mean(ValueId x, const std::vector<int32_t>& axes, bool keepdim) {
    fb::ReduceT t;
    t.fn = fb::ReduceFn::Mean;
    t.axes = axes;
    t.keepdim = keepdim;
    return node(t, {x});
  }
  void output(ValueId id) {
    g.outputs().push_back({"y" + std::to_string(g.outputs().size()), id, std::nullopt});
  }

  Graph g{default_ops()};
  std::mt19937 random;
};

/// The text after compact(), without sources.
inline std::string text_of(Graph graph) {
  graph.compact();
  return graph_text(graph, false);
}

inline size_t count_nodes(const Graph& graph, fb::OpAttrs kind) {
  size_t n = 0;
  for (const Node& node : graph.nodes()) n += node.attrs.kind() == kind ? 1 : 0;
  return n;
}

inline HostTensor random_tensor(DType dtype, const Shape& shape, std::mt19937& random) {
  HostTensor t = HostTensor::make(dtype, shape);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const double x = is_floating(dtype) ? std::normal_distribution<double>()(random)
                                        : static_cast<double>(random() % 3);
    write_element(dtype, t.data.get(), i, x);
  }
  return t;
}

/// Runs both on the same random inputs; every output agrees to `tolerance` of its largest value.
inline void expect_same(const Graph& a, const Graph& b, double tolerance = 1e-5,
                        uint32_t seed = 7) {
  std::mt19937 random(seed);
  std::vector<HostTensor> inputs;
  for (ValueId id : a.inputs()) {
    inputs.push_back(random_tensor(a.value(id).dtype, a.value(id).shape, random));
  }
  auto ya = evaluate(a, inputs), yb = evaluate(b, inputs);
  ASSERT_TRUE(ya.ok()) << ya.failure().text;
  ASSERT_TRUE(yb.ok()) << yb.failure().text;
  ASSERT_EQ(ya->size(), yb->size());
  for (size_t k = 0; k < ya->size(); ++k) {
    const HostTensor &p = (*ya)[k], &q = (*yb)[k];
    ASSERT_EQ(p.dtype, q.dtype);
    ASSERT_TRUE(p.shape == q.shape) << shape_text(p.shape).text << shape_text(q.shape).text;
    double scale = 1, worst = 0;
    for (int64_t i = 0; i < p.shape.numel(); ++i) {
      const double u = read_element(p.dtype, p.data.get(), i);
      const double v = read_element(q.dtype, q.data.get(), i);
      scale = std::max(scale, std::fabs(u));
      worst = std::max(worst, std::isnan(u) && std::isnan(v) ? 0 : std::fabs(u - v));
    }
    ASSERT_LE(worst, tolerance * scale) << "output " << k << "\n" << graph_text(b, false);
  }
}

/// Runs the pass on a copy: the graph stays valid and computes the same. Returns the result.
template <class PassFn>
Graph after(PassFn pass, const Graph& graph, double tolerance = 1e-5) {
  Graph changed = graph;
  auto done = pass(changed);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.failure().text);
  auto valid = verify_graph(changed);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.failure().text);
  expect_same(graph, changed, tolerance);
  return changed;
}

}  // namespace lazyrt
