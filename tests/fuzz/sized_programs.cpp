#include "tests/fuzz/sized_programs.h"

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt::fuzz {
namespace {

using test::MethodBuilder;

constexpr DType kReal = DType::kFloat32, kLong = DType::kInt64;

class SizedProgram {
 public:
  SizedProgram(test::BundleParts* parts, int64_t n) : b_(parts), n_(n) {}

  void build(bool fails) {
    const float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const int64_t rows[2] = {0, 0};
    const int x = b_.input("x", kReal, {n_});
    const int ids = b_.constant("ids", kLong, {2}, rows);
    const int w = b_.constant("w", kReal, {4, 4}, weights);
    const int state = b_.state("s", kReal, {4});
    if (fails) add_guard(node(full({1}, 0, DType::kInt64), {}), 1);
    const int positive = node(test::relu(), {x});
    fb::TopKT top;
    top.k = 1;
    const int largest = node(top, {positive});
    const int linear = node(fb::LinearT(), {node(full({4}, 2, kReal), {}), w});
    const int sum = node(test::add(), {linear, state});
    b_.method().states[0]->next = sum;
    const int picked = node(fb::IndexSelectT(), {x, ids});
    const int joined = node(fb::ConcatT(), {sum, picked});
    add_outputs(shuffled(joined), largest, node(fb::GatherT(), {sum, ids}), x);
    name_symbol(x);
  }

 private:
  template <class Table>
  int node(const Table& table, std::vector<int> operands) {
    const int made = b_.infer(default_ops(), table, std::move(operands));
    fb::MethodT& m = b_.method();
    m.nodes.back()->source = static_cast<int>(m.sources.size());
    m.sources.push_back(std::make_unique<fb::SourceT>());
    fb::SourceT& source = *m.sources.back();
    source.aten = "aten::op", source.module_path = "net.layer", source.file = "model.py";
    source.line = static_cast<int>(m.sources.size());
    return made;
  }

  static fb::FullT full(std::vector<int64_t> shape, double real, DType dtype) {
    fb::FullT t;
    t.shape = std::move(shape);
    t.dtype = static_cast<fb::DType>(dtype);
    t.real = real;
    return t;
  }

  /// Six numbers through reshape, permute, slice and pad.
  int shuffled(int six) {
    fb::PermuteT turn;
    turn.perm = {1, 0};
    fb::SliceT column;
    column.starts = {0, 0}, column.sizes = {3, 1}, column.steps = {1, 1};
    fb::PadT frame;
    frame.before = {1, 0}, frame.after = {0, 1};
    const int wide = node(test::reshape({2, 3}), {six});
    return node(frame, {node(column, {node(turn, {wide})})});
  }

  void add_outputs(int frame, int largest, int gathered, int x) {
    fb::ExpandT wide;
    wide.shape = {5, 1};
    fb::ReduceT total;
    total.axes = {0};
    const int row = node(test::reshape({1, n_}), {x});
    row_node_ = static_cast<int>(b_.method().nodes.size()) - 1;
    b_.output("frame", frame);
    b_.output("place", largest + 1);
    b_.output("wide", node(wide, {largest}));
    b_.output("gathered", gathered);
    b_.output("row", row);
    add_guard(node(total, {x}), 1);
  }

  void add_guard(int value, int64_t seen) {
    auto guard = std::make_unique<fb::GuardT>();
    guard->kind = fb::GuardKind::Truth;
    guard->value = value;
    guard->seen_integer = seen;
    guard->source = static_cast<int>(b_.method().sources.size()) - 1;
    guard->text = "bool(number)";
    b_.method().guards.push_back(std::move(guard));
  }

  void name_symbol(int x) {
    fb::MethodT& m = b_.method();
    m.symbols.push_back(std::make_unique<fb::SymbolT>());
    m.symbols[0]->name = "n";
    m.symbols[0]->max = 8;
    m.values[static_cast<size_t>(x)]->symbols = {0};
    m.terms.emplace_back(0, 0, 0, 0, fb::TermOp::Symbol);
    m.patches.emplace_back(row_node_, 0, 1, 0, fb::FieldType::Int64);
  }

  MethodBuilder b_;
  const int64_t n_;
  int row_node_ = 0;
};

}  // namespace

test::BundleParts sized_program(bool has_failing_guard) {
  test::BundleParts parts;
  for (const int64_t n : {4, 2, 7}) SizedProgram(&parts, n).build(has_failing_guard && n == 4);
  auto& methods = parts.bundle.methods;
  for (size_t v = 1; v < 3; ++v) methods[0]->variants.push_back(std::move(methods[v]));
  methods.resize(1);
  return parts;
}

}  // namespace lazyrt::fuzz
