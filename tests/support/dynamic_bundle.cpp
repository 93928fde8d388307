#include "tests/support/dynamic_bundle.h"

namespace lazyrt::test {
namespace {

std::unique_ptr<fb::SymbolT> symbol(const std::string& name, int64_t min, int64_t max,
                                    int64_t multiple) {
  auto s = std::make_unique<fb::SymbolT>();
  s->name = name;
  s->min = min;
  s->max = max;
  s->multiple = multiple;
  return s;
}

}  // namespace

BundleParts static_bundle(int64_t rows, int64_t n) {
  using namespace dynamic;
  BundleParts parts;
  MethodBuilder b(&parts);
  const DType f32 = DType::kFloat32;
  const float ones[3] = {1, 1, 1};
  b.input("x", f32, {rows, 3});
  b.input("ids", DType::kInt64, {n});
  b.input("mask", f32, {n, 3});
  b.constant("one", f32, {1, 3}, ones);
  b.state("count", f32, {1, 3});
  b.method().states[0]->next = kNext;
  b.node(fb::IndexSelectT{}, {kX, kIds}, f32, {n, 3});
  b.node(add(), {kRows, kMask}, f32, {n, 3});
  b.node(relu(), {kSum}, f32, {n, 3}, kSum);
  b.node(reshape({3 * n}), {kRelu}, f32, {3 * n}, kRelu);
  fb::CustomOpT twice;
  twice.name = "test.twice";
  twice.version = 1;
  b.node(twice, {kFlat}, f32, {3 * n});
  b.node(add(), {kTwice, kFlat}, f32, {3 * n}, kTwice);
  b.node(add(), {kCount, kOne}, f32, {1, 3});
  b.output("total", kTotal);
  b.output("mask", kMask);
  return parts;
}

BundleParts dynamic_bundle(int64_t rows, int64_t n) {
  using namespace dynamic;
  BundleParts parts = static_bundle(rows, n);
  fb::MethodT& m = *parts.bundle.methods[0];
  m.symbols.push_back(symbol("rows", 1, 8, 1));
  m.symbols.push_back(symbol("n", 2, 512, 2));
  m.values[kX]->symbols = {0, -1};
  m.values[kIds]->symbols = {1};
  m.values[kMask]->symbols = {1, -1};
  m.values[kSum]->symbols = {1, -1};
  m.terms = {fb::Term(0, 0, 1, 0, fb::TermOp::Symbol), fb::Term(3, 0, 0, 0, fb::TermOp::Integer),
             fb::Term(0, 0, 0, 1, fb::TermOp::Multiply)};
  m.patches = {fb::Patch(kFlatNode, 0, 0, 2, fb::FieldType::Int64)};
  return parts;
}

BundleParts ranges_bundle(int64_t n2) {
  using namespace dynamic;
  BundleParts parts = dynamic_bundle();
  fb::MethodT& main = *parts.bundle.methods[0];
  main.symbols[1]->max = 100;
  BundleParts other = dynamic_bundle(4, n2);
  std::unique_ptr<fb::MethodT> variant = std::move(other.bundle.methods[0]);
  variant->symbols[0]->max = 4;
  variant->symbols[1]->min = 102;
  variant->nodes[kTotalNode]->inputs = {kTwice, kTwice};
  main.variants.push_back(std::move(variant));
  return parts;
}

BundleParts guarded_ranges_bundle() {
  BundleParts parts;
  for (int variant = 0; variant < 3; ++variant) {
    MethodBuilder b(&parts);
    const DType f32 = DType::kFloat32;
    const int64_t n = variant == 0 ? 2 : 6;
    const int x = b.input("x", f32, {n, 1});
    auto symbol = std::make_unique<fb::SymbolT>();
    symbol->name = "n";
    symbol->min = variant == 0 ? 1 : 5;
    symbol->max = variant == 0 ? 4 : 8;
    b.method().symbols.push_back(std::move(symbol));
    b.method().values[0]->symbols = {0, -1};
    if (variant == 1) {
      const int64_t zero = 0;
      const int row = b.constant("row", DType::kInt64, {1}, &zero);
      auto guard = std::make_unique<fb::GuardT>();
      guard->kind = fb::GuardKind::Truth;
      guard->value = b.node(fb::IndexSelectT{}, {x, row}, f32, {1, 1});
      guard->seen_integer = 1;
      guard->text = "bool(x[0])";
      b.method().guards.push_back(std::move(guard));
      b.output("y", b.node(relu(), {x}, f32, {n, 1}));
      continue;
    }
    int y = b.node(add(), {x, x}, f32, {n, 1});
    if (variant == 2) y = b.node(add(), {y, x}, f32, {n, 1});
    b.output("y", y);
  }
  for (int variant = 1; variant < 3; ++variant)
    parts.bundle.methods[0]->variants.push_back(
        std::move(parts.bundle.methods[static_cast<size_t>(variant)]));
  parts.bundle.methods.resize(1);
  return parts;
}

BundleParts follows_bundle(int64_t n) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const DType f32 = DType::kFloat32;
  const int x = b.input("x", f32, {n, 3});
  const int ids = b.input("ids", DType::kInt64, {2 * n + 1});
  const int rows = b.node(fb::IndexSelectT{}, {x, ids}, f32, {2 * n + 1, 3});
  b.output("y", b.node(relu(), {rows}, f32, {2 * n + 1, 3}));
  fb::MethodT& m = b.method();
  m.symbols.push_back(symbol("n", 1, 100, 1));
  m.values[static_cast<size_t>(x)]->symbols = {0, -1};
  m.values[static_cast<size_t>(ids)]->symbols = {5};
  m.terms = {fb::Term(0, 0, 0, 0, fb::TermOp::Symbol), fb::Term(2, 0, 0, 0, fb::TermOp::Integer),
             fb::Term(0, 0, 0, 1, fb::TermOp::Multiply), fb::Term(1, 0, 0, 0, fb::TermOp::Integer),
             fb::Term(0, 0, 2, 3, fb::TermOp::Add)};
  return parts;
}

BundleParts relu_chain(int nodes, int64_t extent) {
  BundleParts parts;
  MethodBuilder b(&parts);
  int value = b.input("x", DType::kFloat32, {extent});
  for (int i = 0; i < nodes; ++i) value = b.node(relu(), {value}, DType::kFloat32, {extent});
  b.output("y", value);
  b.method().symbols.push_back(symbol("n", 1, 4096, 1));
  b.method().values[0]->symbols = {0};
  return parts;
}

}  // namespace lazyrt::test
