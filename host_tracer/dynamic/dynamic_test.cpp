// Solving for numbers, and graphs at several sizes that become one.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/optional_nodes.h"
#include "host_tracer/dynamic/solve.h"
#include "host_tracer/dynamic/unify.h"
#include "host_tracer/passes/passes.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

const std::vector<DimSymbol> kTwo = {{"batch", 1, 8, 1}, {"seq", 1, 512, 1}};

/// The text of the term that gives fn at fit_points, after it gave fn at every size up to 40, too.
std::string solved(const std::function<int64_t(int64_t, int64_t)>& fn) {
  const auto points = fit_points(kTwo);
  TermList terms;
  SizeSolver solver(kTwo, points, &terms);
  std::vector<int64_t> values;
  for (const SizePoint& p : points) values.push_back(fn(p[0], p[1]));
  const auto term = solver.integers(values);
  if (!term) return "nothing";
  for (int64_t b = 1; b <= 8; ++b) {
    for (int64_t s = 1; s <= 40; ++s) {
      const auto number = terms.evaluate(*term, {b, s});
      EXPECT_TRUE(number && number->integer == fn(b, s)) << "batch " << b << ", seq " << s;
    }
  }
  return terms.text(*term, {"batch", "seq"});
}

TEST(SizeSolver, FindsWhatProgramsComputeOfSizes) {
  EXPECT_EQ(solved([](int64_t, int64_t) { return 7; }), "7");
  EXPECT_EQ(solved([](int64_t, int64_t s) { return s; }), "seq");
  EXPECT_EQ(solved([](int64_t, int64_t s) { return 2 * s + 3; }), "(seq * 2) + 3");
  EXPECT_EQ(solved([](int64_t, int64_t s) { return s - 1; }), "seq - 1");
  EXPECT_EQ(solved([](int64_t b, int64_t s) { return b * s; }), "batch * seq");
  EXPECT_EQ(solved([](int64_t b, int64_t) { return b * 12; }), "batch * 12");
  EXPECT_EQ(solved([](int64_t b, int64_t s) { return b + s; }), "((batch + 7) + (seq + 2)) - 9");
  EXPECT_NE(solved([](int64_t b, int64_t s) { return b * (s + 1); }), "nothing");
  EXPECT_NE(solved([](int64_t b, int64_t s) { return b * s * 4 + 5; }), "nothing");
}

/// Solves for fn of seq, with more sizes as the solver asks for them; fn then holds at all sizes.
void expect_solved(const std::function<int64_t(int64_t)>& fn, const std::string& text) {
  auto points = fit_points(kTwo);
  std::optional<TermId> term;
  TermList terms;
  for (int more = 0; !term; ++more) {
    ASSERT_LT(more, 40) << text;
    SizeSolver solver(kTwo, points, &terms);
    std::vector<int64_t> values;
    for (const SizePoint& p : points) values.push_back(fn(p[1]));
    term = solver.integers(values);
    if (term) break;
    ASSERT_TRUE(solver.wanted().has_value()) << text;
    points.insert(points.end() - 1, *solver.wanted());
  }
  for (int64_t s = 2; s <= 512; ++s)
    EXPECT_EQ(terms.evaluate(*term, {3, s})->integer, fn(s)) << text << " at " << s;
}

TEST(SizeSolver, AsksForSizesThatTellStepsApart) {
  for (const int64_t d : {2, 3, 8, 10, 32, 50, 100, 160}) {
    for (const int64_t b : {int64_t{0}, d / 2, d - 1}) {
      expect_solved([&](int64_t s) { return 2 * ((s + b) / d) + 3; },
                    "(seq + " + std::to_string(b) + ") // " + std::to_string(d));
    }
  }
}

TEST(SizeSolver, AsksForSizesThatTellRatiosApart) {
  const std::pair<int64_t, int64_t> ratios[] = {{2, 3}, {3, 4}, {7, 10}, {3, 2}, {13, 16}, {9, 50}};
  for (const auto& [p, d] : ratios) {
    for (const int64_t b : {int64_t{0}, d / 2, -d}) {
      expect_solved([p = p, d = d, b](int64_t s) { return floor_divide(p * s + b, d); },
                    std::to_string(p) + " * seq // " + std::to_string(d));
    }
  }
}

TEST(SizeSolver, RoundsAsPythonDoes) {
  for (const double r : {0.7, 0.29, 1.5, 0.05, 2.25}) {
    const std::string text = "seq * " + std::to_string(r);
    expect_solved(
        [r](int64_t s) { return static_cast<int64_t>(std::floor(static_cast<double>(s) * r)); },
        text);
    expect_solved(
        [r](int64_t s) { return static_cast<int64_t>(std::ceil(static_cast<double>(s) * r)); },
        text);
    expect_solved(
        [r](int64_t s) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(s) * r)); },
        text);
  }
  expect_solved(
      [](int64_t s) {
        return static_cast<int64_t>(std::nearbyint(static_cast<double>(s) * 0.25)) + 1;
      },
      "round(seq * 0.25) + 1");
  expect_solved([](int64_t s) { return std::max<int64_t>(1, s / 10); }, "max(1, seq // 10)");
  expect_solved([](int64_t s) { return std::min<int64_t>(30, (s + 7) / 8); },
                "min(30, ceil(seq / 8))");
}

TEST(SizeSolver, UsesNumbersKnownBefore) {
  auto points = fit_points(kTwo);
  for (int64_t s = 9; s < 80; ++s) points.insert(points.end() - 1, {points[0][0], s});
  for (const int64_t end : {kTwo[1].min, kTwo[1].max})
    points.insert(points.end() - 1, {points[0][0], end});
  TermList terms;
  SizeSolver solver(kTwo, points, &terms);
  const auto expect = [&](const std::function<int64_t(int64_t)>& fn) {
    std::vector<int64_t> values;
    for (const SizePoint& p : points) values.push_back(fn(p[1]));
    const auto term = solver.integers(values);
    ASSERT_TRUE(term.has_value());
    for (int64_t s = 2; s <= 512; ++s)
      EXPECT_EQ(terms.evaluate(*term, {2, s})->integer, fn(s)) << s;
  };
  expect([](int64_t s) { return s / 4; });
  expect([](int64_t s) { return s - 2 * (s / 4); });
  expect([](int64_t s) { return (s / 4 + 7) / 8 * 8; });
  expect([](int64_t s) { return (7 - (s / 4 + 6) % 7) % 7; });
  expect([](int64_t s) {
    return s / 4 + static_cast<int64_t>(std::nearbyint(static_cast<double>(s) * 0.35)) + 1;
  });
}

TEST(SizeSolver, AsksForSizesThatTellRemaindersApart) {
  for (const int64_t d : {2, 4, 7, 8, 16, 32, 64}) {
    expect_solved([&](int64_t s) { return s % d; }, "seq % " + std::to_string(d));
    expect_solved([&](int64_t s) { return d - 1 - (s + d - 1) % d; },
                  "-seq % " + std::to_string(d));
  }
}

TEST(SizeSolver, FindsPowersOfTwo) {
  const auto bits = [](int64_t s) {
    int64_t count = 0;
    for (; s > 0; s /= 2) ++count;
    return count;
  };
  expect_solved([&](int64_t s) { return int64_t{1} << bits(s - 1); }, "the power at or above seq");
  expect_solved([&](int64_t s) { return int64_t{1} << (bits(s) - 1); }, "the power at or below");
  expect_solved([&](int64_t s) { return (int64_t{1} << bits(s - 1)) - s; }, "padding to a power");
  expect_solved([&](int64_t s) { return 3 * bits(s) + 1; }, "bits of seq");
  expect_solved([&](int64_t s) { return bits(s - 1); }, "bits of seq - 1");
}

/// Solves, with every point that is wanted; checks all sizes.
void ask_until_solved(const std::function<int64_t(int64_t)>& fn) {
  auto points = fit_points(kTwo);
  TermList terms;
  std::optional<TermId> term;
  size_t asked = 0;
  for (; asked < 40 && !term; ++asked) {
    SizeSolver solver(kTwo, points, &terms);
    std::vector<int64_t> values;
    for (const SizePoint& p : points) values.push_back(fn(p[1]));
    term = solver.integers(values);
    if (!term && !solver.wanted()) break;
    if (!term) points.insert(points.end() - 1, *solver.wanted());
  }
  EXPECT_TRUE(term.has_value()) << "after " << asked;
  for (int64_t s = 2; term && s <= 512; ++s)
    EXPECT_EQ(terms.evaluate(*term, {3, s})->integer, fn(s));
}

TEST(SizeSolver, FindsQuotientsByLargeNumbers) {
  for (const int64_t d : {3, 8, 100, 160, 320}) {
    SCOPED_TRACE(d);
    ask_until_solved([d](int64_t s) { return s / d; });
    ask_until_solved([d](int64_t s) { return (s + d - 1) / d; });
    ask_until_solved([d](int64_t s) { return 8 * (s / d) + 3; });
    ask_until_solved([d](int64_t s) { return s % d; });
  }
}

TEST(SizeSolver, FindsBoundsAtTheEnds) {
  for (const int64_t d : {4, 10, 100}) {
    SCOPED_TRACE(d);
    ask_until_solved([d](int64_t s) { return std::max<int64_t>(1, s / d); });
    ask_until_solved([d](int64_t s) { return std::max<int64_t>(2, s * 3 / d); });
  }
}

TEST(SizeSolver, DoesNotGuess) {
  EXPECT_EQ(solved([](int64_t, int64_t s) { return s * s * s; }), "nothing");
  EXPECT_EQ(solved([](int64_t, int64_t s) { return s ^ 5; }), "nothing");
  EXPECT_EQ(solved([](int64_t, int64_t s) { return s < 30 ? s : 7; }), "nothing");
}

TEST(SizeSolver, FindsSquares) {
  EXPECT_NE(solved([](int64_t, int64_t s) { return s * s; }), "nothing");
  EXPECT_NE(solved([](int64_t, int64_t s) { return s * (s - 1) / 2; }), "nothing");
  EXPECT_NE(solved([](int64_t b, int64_t s) { return b * s * (s + 1) / 2; }), "nothing");
}

TEST(SizeSolver, FindsRealNumbers) {
  const auto points = fit_points(kTwo);
  TermList terms;
  SizeSolver solver(kTwo, points, &terms);
  const auto at = [&](const std::function<double(double)>& fn, bool single) {
    std::vector<double> values;
    for (const SizePoint& p : points) {
      const double x = fn(static_cast<double>(p[1]));
      values.push_back(single ? static_cast<double>(static_cast<float>(x)) : x);
    }
    const auto term = solver.reals(values, single);
    return term ? terms.text(*term, {"batch", "seq"}) : "nothing";
  };
  EXPECT_EQ(at([](double s) { return 1 / s; }, true), "1 / seq");
  EXPECT_EQ(at([](double s) { return std::sqrt(s); }, true), "sqrt(seq)");
  EXPECT_EQ(at([](double s) { return 1 / std::sqrt(s); }, false), "1 / sqrt(seq)");
  EXPECT_EQ(at([](double s) { return std::log(s); }, false), "log(seq)");
  EXPECT_EQ(at([](double s) { return std::sin(s); }, true), "nothing");
  // What they are rounded from: others of float32 at other sizes.
  EXPECT_EQ(at([](double s) { return s / 20; }, true), "seq / 20");
  EXPECT_EQ(at([](double s) { return (s - 1) / 63; }, true), "(seq - 1) / 63");
  EXPECT_EQ(at([](double s) { return s * 0.35; }, true), "seq * 0.35");
  EXPECT_EQ(at([](double s) { return 1.7 / std::sqrt(s); }, true), "1.7 / sqrt(seq)");
  EXPECT_EQ(at([](double s) { return s * 0.35; }, false), "seq * 0.35");
}

TEST(SizeSolver, FindsTheFloat32ThatFactorsAreRoundedTo) {
  const auto points = fit_points(kTwo);
  TermList terms;
  SizeSolver solver(kTwo, points, &terms);
  const auto wrong_sizes = [&](const std::function<double(double)>& fn) {
    std::vector<double> values;
    for (const SizePoint& p : points)
      values.push_back(static_cast<float>(fn(static_cast<double>(p[1]))));
    const auto term = solver.reals(values, true);
    if (!term) return -1;
    int wrong = 0;
    for (int64_t s = 2; s <= 512; ++s) {
      const double found = terms.evaluate(*term, {2, s})->as_real();
      wrong += static_cast<float>(found) != static_cast<float>(fn(static_cast<double>(s))) ? 1 : 0;
    }
    return wrong;
  };
  EXPECT_EQ(wrong_sizes([](double s) { return 2 * std::numbers::pi / s; }), 0);
  EXPECT_EQ(wrong_sizes([](double s) { return std::numbers::pi / (s - 1); }), 0);
  EXPECT_EQ(wrong_sizes([](double s) { return s / 30; }), 0);
  EXPECT_EQ(wrong_sizes([](double s) { return 1.5 * std::sqrt(s); }), 0);
  EXPECT_LT(wrong_sizes([](double s) { return s * std::sqrt(3.7); }), 60);  // of any number
}

TEST(TermList, KeepsWhatIsUsed) {
  TermList terms;
  const TermId n = terms.symbol(0);
  terms.make(fb::TermOp::Logarithm, n);
  TermId used = terms.make(fb::TermOp::Add, n, terms.integer(5));
  terms.keep({&used});
  EXPECT_EQ(terms.all().size(), 3u);
  EXPECT_EQ(terms.evaluate(used, {4})->integer, 9);
  EXPECT_FALSE(terms.evaluate(terms.make(fb::TermOp::FloorDivide, n, n), {0}).has_value());
}

TEST(FitPoints, KeepOffOneAndHoldTheLargest) {
  for (const SizePoint& p : fit_points(kTwo)) EXPECT_TRUE(p[0] > 1 && p[1] > 1);
  EXPECT_EQ(fit_points(kTwo).back(), (SizePoint{8, 512}));
  const auto points = fit_points({{"h", 160, 288, 32}});
  EXPECT_EQ(points.size(), 5u);
  for (const SizePoint& p : points) EXPECT_EQ(p[0] % 32, 0);
  const auto checked = check_points(kTwo, 0, 1);
  EXPECT_EQ(checked[0], (SizePoint{1, 1}));
  EXPECT_EQ(checked[1], (SizePoint{8, 512}));
  EXPECT_EQ(checked[2][0], 1);
  EXPECT_GT(checked[2][1], 1);
}

TEST(FitPoints, OfTwoSizesTakeBoth) {
  EXPECT_EQ(fit_points({{"b", 1, 2, 1}}), (std::vector<SizePoint>{{1}, {2}}));
  const auto points = fit_points({{"b", 1, 2, 1}, {"n", 1, 512, 1}});
  EXPECT_EQ(points[0][0], 2);
  const auto both_vary = [&](const SizePoint& p) { return p[0] == 1 && p[1] != points[0][1]; };
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), both_vary)) << "b*n, or b + n?";
}

// ------------------------------------------------------------ graphs

const DynamicShapes kRows = {{{"n", 1, 40, 1}}, {{0, -1}}};

/// make(graph, n) adds nodes behind the input x [n, 4], and gives the output.
using Body = std::function<ValueId(Graph&, ValueId x, int64_t n)>;

Outcome<DynamicGraph> unified(const Body& body) {
  const auto points = fit_points(kRows.symbols);
  std::vector<Graph> graphs;
  for (const SizePoint& p : points) {
    Graph graph(default_ops());
    const ValueId x = graph.add_input("x", DType::kFloat32, Shape({p[0], 4}));
    graph.outputs().push_back({"y", body(graph, x, p[0]), std::nullopt});
    graph.compact();
    graphs.push_back(std::move(graph));
  }
  UnifyHints hints;
  return unify_graphs(std::move(graphs), kRows, points, &hints);
}

ValueId binary(Graph& graph, fb::BinaryFn fn, ValueId a, ValueId b) {
  fb::BinaryT attrs;
  attrs.fn = fn;
  auto made = graph.add(Attrs::of(attrs), {a, b}, {});
  EXPECT_TRUE(made.ok()) << made.failure().text;
  return *made;
}

template <class T>
ValueId constant(Graph& graph, DType dtype, const Shape& shape, const std::vector<T>& data) {
  return graph.add_constant("", dtype, shape, data.data());
}

void expect_shapes(const DynamicGraph& graph, const Shape& at_five) {
  auto five = graph.at({5});
  ASSERT_TRUE(five.ok()) << five.failure().text;
  EXPECT_EQ(five->value(five->outputs()[0].value).shape, at_five);
  EXPECT_FALSE(try_shapes(graph, {2}, 100).has_value());
}

TEST(Unify, NumbersFollowTheExtent) {
  auto made = unified([](Graph& g, ValueId x, int64_t n) {
    fb::ReshapeT reshape;
    reshape.shape = {2 * n, 2};
    return *g.add(Attrs::of(reshape), {x}, {});
  });
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_EQ(made->patches().size(), 1u);
  expect_shapes(*made, Shape({10, 2}));
}

TEST(Unify, TablesBecomeSlicesOfTheLargest) {
  for (const bool from_end : {false, true}) {
    auto made = unified([&](Graph& g, ValueId x, int64_t n) {
      std::vector<float> table(static_cast<size_t>(n) * 4);
      std::iota(table.begin(), table.end(), static_cast<float>(from_end ? (40 - n) * 4 : 0));
      return binary(g, fb::BinaryFn::Add, x, constant(g, DType::kFloat32, Shape({n, 4}), table));
    });
    ASSERT_TRUE(made.ok()) << made.failure().text;
    EXPECT_EQ(made->model().nodes()[0].attrs.kind(), fb::OpAttrs::Slice);
    expect_shapes(*made, Shape({5, 4}));
  }
}

TEST(Unify, RepeatedRowsAreKeptOnce) {
  auto made = unified([](Graph& g, ValueId x, int64_t n) {
    std::vector<float> table;
    for (int64_t i = 0; i < n; ++i) table.insert(table.end(), {1, 2, 3, 4});
    return binary(g, fb::BinaryFn::Add, x, constant(g, DType::kFloat32, Shape({n, 4}), table));
  });
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_EQ(made->model().nodes().size(), 1u) << graph_text(made->model());
  expect_shapes(*made, Shape({5, 4}));
}

TEST(Unify, NumbersInTensorsAreComputed) {
  auto made = unified([](Graph& g, ValueId x, int64_t n) {
    const float scale = 1 / std::sqrt(static_cast<float>(n));
    return binary(g, fb::BinaryFn::Mul, x, constant<float>(g, DType::kFloat32, Shape(), {scale}));
  });
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_EQ(made->model().nodes()[0].attrs.kind(), fb::OpAttrs::Full);
  expect_shapes(*made, Shape({5, 4}));
}

TEST(Unify, PositionsAreRamps) {
  auto made = unified([](Graph& g, ValueId x, int64_t n) {
    std::vector<int64_t> ids(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) ids[static_cast<size_t>(i)] = (n - 1) - i;
    fb::IndexSelectT select;
    return *g.add(Attrs::of(select), {x, constant(g, DType::kInt64, Shape({n}), ids)}, {});
  });
  ASSERT_TRUE(made.ok()) << made.failure().text;
  expect_shapes(*made, Shape({5, 4}));
}

/// Graphs of x [n, 4] through one pass.
Outcome<std::vector<Graph>> alike(const Pass& pass, const Body& body) {
  std::vector<Graph> graphs;
  for (const int64_t n : {3, 4, 9}) {
    Graph graph(default_ops());
    const ValueId x = graph.add_input("x", DType::kFloat32, Shape({n, 4}));
    graph.outputs().push_back({"y", body(graph, x, n), std::nullopt});
    graphs.push_back(std::move(graph));
  }
  return AlikePasses({pass}).run(std::move(graphs));
}

TEST(AlikePasses, APadThatIsEmptyAtOneSizeStays) {
  for (const int64_t empty_at : {4, 0}) {
    const auto graphs = alike({"simplify", simplify}, [&](Graph& g, ValueId x, int64_t n) {
      fb::PadT pad;
      pad.before = {0, 0};
      pad.after = {empty_at == 0 || n == empty_at ? 0 : 1, 0};
      const ValueId padded = *g.add(Attrs::of(pad), {x}, {});
      return binary(g, fb::BinaryFn::Add, padded, padded);
    });
    ASSERT_TRUE(graphs.ok()) << graphs.failure().text;
    for (const Graph& graph : *graphs)
      EXPECT_EQ(graph.nodes().size(), empty_at == 0 ? 1u : 2u) << graph_text(graph);
  }
}

/// x [n, 4], padded to even rows where it is not, summed up by twos, cut again where it was padded.
Graph evened(int64_t n, bool reads_the_unpadded = false) {
  Graph graph(default_ops());
  const ValueId x = graph.add_input("x", DType::kFloat32, Shape({n, 4}));
  ValueId y = x;
  if (n % 2 != 0) {
    fb::PadT pad;
    pad.before = {0, 0};
    pad.after = {1, 0};
    y = *graph.add(Attrs::of(pad), {x}, {});
  }
  y = binary(graph, fb::BinaryFn::Mul, y, y);
  if (n % 2 != 0) {
    fb::SliceT slice;
    slice.starts = {0, 0};
    slice.sizes = {n, 4};
    slice.steps = {1, 1};
    y = *graph.add(Attrs::of(slice), {y}, {});
  }
  if (reads_the_unpadded) y = binary(graph, fb::BinaryFn::Add, y, x);
  graph.outputs().push_back({"y", y, std::nullopt});
  return graph;
}

TEST(OptionalNodes, GraphsGetWhatOthersPadAndCut) {
  for (const bool both : {false, true}) {
    std::vector<Graph> graphs = {evened(4, both), evened(5, both), evened(6, both)};
    ASSERT_TRUE(add_optional_nodes(&graphs));
    for (const Graph& graph : graphs) {
      EXPECT_EQ(graph.nodes().size(), both ? 4u : 3u);
      EXPECT_TRUE(verify_graph(graph).ok());
    }
    EXPECT_EQ(graphs[0].value(graphs[0].outputs()[0].value).shape, Shape({4, 4}));
    EXPECT_EQ(graphs[1].value(graphs[1].outputs()[0].value).shape, Shape({5, 4}));
  }
}

TEST(OptionalNodes, OtherDifferencesStay) {
  std::vector<Graph> graphs = {evened(4), evened(5, true)};
  EXPECT_FALSE(add_optional_nodes(&graphs));
  EXPECT_EQ(graphs[0].nodes().size(), 1u);
}

TEST(AlikePasses, ConstantsAreFoldedWhereTheyHaveAForm) {
  for (const bool has_form : {true, false}) {
    const auto graphs =
        alike({"fold_constants", fold_all_constants}, [&](Graph& g, ValueId x, int64_t n) {
          std::vector<float> rows(static_cast<size_t>(n) * 4);
          std::iota(rows.begin(), rows.end(), 0.0f);
          const ValueId table = constant(g, DType::kFloat32, Shape({n, 4}), rows);
          const float scale = has_form ? 0.3f : 1 / static_cast<float>(n);
          const ValueId number = constant<float>(g, DType::kFloat32, Shape(), {scale});
          return binary(g, fb::BinaryFn::Add, x, binary(g, fb::BinaryFn::Mul, table, number));
        });
    ASSERT_TRUE(graphs.ok()) << graphs.failure().text;
    for (const Graph& graph : *graphs)
      EXPECT_EQ(graph.nodes().size(), has_form ? 1u : 2u) << graph_text(graph);
  }
}

TEST(AlikePasses, OneMoreGraphIsTakenOnlyWhereItGoesTheSameWay) {
  const auto graph_at = [](int64_t n, int64_t pad_rows) {
    Graph graph(default_ops());
    const ValueId x = graph.add_input("x", DType::kFloat32, Shape({n, 4}));
    fb::PadT pad;
    pad.before = {0, 0};
    pad.after = {pad_rows, 0};
    graph.outputs().push_back({"y", *graph.add(Attrs::of(pad), {x}, {}), std::nullopt});
    return graph;
  };
  AlikePasses passes({{"simplify", simplify}});
  ASSERT_TRUE(passes.run({graph_at(3, 1), graph_at(9, 1)}).ok());
  const auto same = passes.run_one(graph_at(5, 2));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->has_value());
  const auto other = passes.run_one(graph_at(5, 0));
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->has_value());
}

TEST(Unify, SaysWhereProgramsPart) {
  auto other_path = unified([](Graph& g, ValueId x, int64_t n) {
    return binary(g, n < 30 ? fb::BinaryFn::Add : fb::BinaryFn::Mul, x, x);
  });
  ASSERT_FALSE(other_path.ok());
  EXPECT_NE(other_path.failure().text.find("n=40"), std::string::npos) << other_path.failure().text;
  auto other_table = unified([](Graph& g, ValueId x, int64_t n) {
    std::vector<float> table(static_cast<size_t>(n) * 4);
    for (size_t i = 0; i < table.size(); ++i)
      table[i] = std::sin(static_cast<float>(i) * static_cast<float>(n));
    return binary(g, fb::BinaryFn::Add, x, constant(g, DType::kFloat32, Shape({n, 4}), table));
  });
  ASSERT_FALSE(other_table.ok());
  EXPECT_NE(other_table.failure().text.find("not a part of the largest"), std::string::npos);
}

}  // namespace
}  // namespace lazyrt
