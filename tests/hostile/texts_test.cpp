// Texts that count once in the file and are used by each node: they are short, or the file is
// refused; and no step takes time for nodes times bytes.

#include <gmock/gmock.h>

#include <functional>

#include "tests/hostile/agreement.h"
#include "tests/support/processor_time.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

constexpr size_t kLongestName = 4096, kLongestText = 65536;
constexpr DType kFallingBack =
    DType::kFloat64;  // of which cpu has no kernels: each node falls back

/// x f64[n] through `count` nodes, n from 1 to 8; all are of one source.
BundleParts nodes_of_one_source(size_t count, const fb::SourceT& source) {
  BundleParts parts;
  MethodBuilder b(&parts);
  int value = b.input("x", kFallingBack, {2});
  for (size_t i = 0; i < count; ++i) {
    value = b.node(test::relu(), {value}, kFallingBack, {2});
    b.method().nodes.back()->source = 0;
  }
  b.output("y", value);
  fb::MethodT& m = b.method();
  m.sources.push_back(std::make_unique<fb::SourceT>(source));
  m.symbols.push_back(std::make_unique<fb::SymbolT>());
  m.symbols[0]->name = "n";
  m.symbols[0]->max = 8;
  m.values[0]->symbols = {0};
  return parts;
}

fb::SourceT source_of(size_t bytes) {
  fb::SourceT source;
  source.aten = source.module_path = source.file = std::string(bytes, 'f');
  return source;
}

struct Times {
  Status loaded;
  double load = 0, create = 0, bind = 0;
};

Times times_of(size_t nodes, size_t bytes) {
  const test::AlignedBytes file = test::write_bundle(nodes_of_one_source(nodes, source_of(bytes)));
  Times times;
  times.load = test::least_processor_ms(
      2, [&] { times.loaded = Program::load(file.span(), default_ops()).status(); });
  if (!times.loaded.ok()) return times;
  const Result<Program> program = Program::load(file.span(), default_ops());
  Watch watch;
  watch.take = [](void*, const TapPoint&, const TensorView&) {};
  SessionOptions options;
  options.backend = cpu_backend();
  options.watch = &watch;
  times.create = test::least_processor_ms(
      2, [&] { EXPECT_TRUE(Session::create(program->method(0), options).ok()); });
  Session session = test::make(program->method(0), options);
  int64_t extent = 3;
  times.bind = test::least_processor_ms(3, [&] {
    const Shape other[] = {Shape{extent++}};
    EXPECT_TRUE(session.bind_shapes(other).ok());
    for (size_t i = 0; i < nodes; i += nodes / 4) (void)session.node(i);
  });
  return times;
}

/// Three times as long on long texts is far from their length.
void expect_quick(const char* what, double with_short, double with_long) {
  std::printf("%s: %.1f ms with short texts, %.1f ms with long ones\n", what, with_short,
              with_long);
  EXPECT_LT(with_long, 3 * with_short + 10) << what;
}

TEST(Texts, ThatNodesShareAreRefusedOrTakeNoTimeForEach) {
  constexpr size_t kNodes = 6'000;
  const Times with_short = times_of(kNodes, 1);
  ASSERT_TRUE(with_short.loaded.ok()) << with_short.loaded.message();
  for (const size_t bytes : {kLongestName, size_t{1} << 20}) {
    const Times with_long = times_of(kNodes, bytes);
    if (bytes <= kLongestName) {
      EXPECT_TRUE(with_long.loaded.ok()) << with_long.loaded.message();
    }
    expect_quick("load", with_short.load, with_long.load);
    if (!with_long.loaded.ok()) {
      EXPECT_EQ(with_long.loaded.error(), Error::kInvalidBundle);
      continue;
    }
    expect_quick("create", with_short.create, with_long.create);
    expect_quick("bind", with_short.bind, with_long.bind);
  }
}

struct LongText {
  const char* name;
  size_t most;
  std::function<std::string*(fb::BundleT&)> text;
};

fb::GuardT& add_guard(fb::MethodT* m) {
  m->values.push_back(std::make_unique<fb::ValueT>());
  fb::ValueT& one = *m->values.back();
  one.kind = fb::ValueKind::Constant;
  one.dtype = fb::DType::Float32;
  one.shape = {1};
  one.bytes = 4;
  m->guards.push_back(std::make_unique<fb::GuardT>());
  m->guards[0]->value = static_cast<int>(m->values.size()) - 1;
  return *m->guards[0];
}

const LongText kLongTexts[] = {
    {"aten", kLongestName, [](auto& b) { return &b.methods[0]->sources[0]->aten; }},
    {"module_path", kLongestName, [](auto& b) { return &b.methods[0]->sources[0]->module_path; }},
    {"file", kLongestName, [](auto& b) { return &b.methods[0]->sources[0]->file; }},
    {"value", kLongestName, [](auto& b) { return &b.methods[0]->values[1]->name; }},
    {"guard", kLongestText, [](auto& b) { return &add_guard(b.methods[0].get()).text; }},
};

class LongTexts : public testing::TestWithParam<LongText> {};

TEST_P(LongTexts, AreRefusedBeyondTheirLimit) {
  for (const size_t beyond : {size_t{0}, size_t{1}, size_t{10'000'000}}) {
    BundleParts parts = nodes_of_one_source(2, source_of(1));
    parts.constants.resize(64);
    *GetParam().text(parts.bundle) = std::string(GetParam().most + beyond, 't');
    const Status status = Program::load(test::write_bundle(parts).span(), default_ops()).status();
    EXPECT_EQ(status.error(), beyond == 0 ? Error::kOk : Error::kInvalidBundle)
        << beyond << ": " << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, LongTexts, testing::ValuesIn(kLongTexts),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace lazyrt
