// Sessions that change their sizes: the answers of a static bundle, on every backend; threads and
// packed weights stay.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "lazyrt/runtime.h"
#include "tests/support/meter.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

constexpr int64_t kNetWidth = 64, kNetHidden = 128;

/// y = softmax(relu(x w1 + b1) w2), also as one row, and the scaled mean-like product x * batch.
BundleParts network(int64_t batch, bool dynamic) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {batch, kNetWidth});
  const auto w1 = test::random_floats(kNetWidth * kNetHidden, 1),
             b1 = test::random_floats(kNetHidden, 2);
  const auto w2 = test::random_floats(kNetWidth * kNetHidden, 3);
  const int first =
      b.infer(default_ops(), fb::LinearT(),
              {x, b.constant("w1", DType::kFloat32, {kNetHidden, kNetWidth}, w1.data()),
               b.constant("b1", DType::kFloat32, {kNetHidden}, b1.data())});
  const int hidden = b.infer(default_ops(), test::relu(), {first});
  const int second =
      b.infer(default_ops(), fb::LinearT(),
              {hidden, b.constant("w2", DType::kFloat32, {kNetWidth, kNetHidden}, w2.data())});
  const int y = b.infer(default_ops(), fb::SoftmaxT(), {second});
  const int flat = b.infer(default_ops(), test::reshape({batch * kNetWidth}), {y});
  b.output("y", y);
  b.output("flat", flat);
  if (!dynamic) return parts;
  fb::MethodT& m = b.method();
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = "batch";
  symbol->max = 64;
  m.symbols.push_back(std::move(symbol));
  m.values[static_cast<size_t>(x)]->symbols = {0, -1};
  m.terms = {fb::Term(0, 0, 0, 0, fb::TermOp::Symbol),
             fb::Term(kNetWidth, 0, 0, 0, fb::TermOp::Integer),
             fb::Term(0, 0, 0, 1, fb::TermOp::Multiply)};
  m.patches = {fb::Patch(static_cast<int>(m.nodes.size()) - 1, 0, 0, 2, fb::FieldType::Int64)};
  return parts;
}

std::vector<float> run(Session* session, int64_t batch) {
  std::vector<float> x = test::random_floats(static_cast<size_t>(batch * kNetWidth), 7);
  EXPECT_TRUE(session->set_input(0, {x.data(), DType::kFloat32, {batch, kNetWidth}}).ok());
  const Status status = session->run();
  EXPECT_TRUE(status.ok()) << status.message();
  const Result<TensorView> flat = session->output(1);
  EXPECT_TRUE(flat.ok());
  EXPECT_EQ(flat->shape, Shape({batch * kNetWidth}));
  return {flat->as<float>(), flat->as<float>() + flat->numel()};
}

SessionOptions on(const Backend* backend, int threads) {
  SessionOptions options;
  options.backend = backend;
  options.threads = threads;
  return options;
}

TEST(Dynamic, AnswersAsAStaticBundleDoes) {
  const test::AlignedBytes file = test::write_bundle(network(4, true));
  const auto program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (const Backend* backend : {reference_backend(), cpu_backend()}) {
    auto session = Session::create(program->method(0), on(backend, 2));
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (int64_t batch : {4, 1, 64, 33, 4}) {
      const test::AlignedBytes fixed = test::write_bundle(network(batch, false));
      const auto other = Program::load(fixed.span(), default_ops());
      auto expected = Session::create(other->method(0), on(backend, 2));
      EXPECT_EQ(run(&*session, batch), run(&*expected, batch)) << batch;
    }
  }
}

/// sum = relu(a) + relu(b) is written over relu(a), whose size it has in the file, but not where a
/// is broadcast.
TEST(Dynamic, MemoryIsSharedOnlyWhereSizesAgree) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("a", DType::kFloat32, {4, 3});
  const int y = b.input("b", DType::kFloat32, {4, 3});
  const int left = b.node(test::relu(), {x}, DType::kFloat32, {4, 3});
  const int right = b.node(test::relu(), {y}, DType::kFloat32, {4, 3});
  b.output("sum", b.node(test::add(), {left, right}, DType::kFloat32, {4, 3}, left));
  for (int i : {0, 1}) {
    auto symbol = std::make_unique<fb::SymbolT>();
    symbol->name = i == 0 ? "m" : "n";
    symbol->max = 64;
    b.method().symbols.push_back(std::move(symbol));
    b.method().values[static_cast<size_t>(i)]->symbols = {i, -1};
  }
  const test::AlignedBytes file = test::write_bundle(parts);
  const auto program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(program->method(0), on(cpu_backend(), 1));
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{4, 4}, {1, 64}, {64, 1}, {64, 64}}) {
    const std::vector<float> data(64 * 3, static_cast<float>(m));
    float* p = const_cast<float*>(data.data());
    ASSERT_TRUE(session->set_input(0, {p, DType::kFloat32, {m, 3}}).ok());
    ASSERT_TRUE(session->set_input(1, {p, DType::kFloat32, {n, 3}}).ok());
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
    const TensorView sum = *session->output(0);
    ASSERT_EQ(sum.shape, Shape({std::max(m, n), 3}));
    for (int64_t i = 0; i < sum.numel(); ++i) EXPECT_EQ(sum.as<float>()[i], 2.0f * data[0]);
  }
  ASSERT_TRUE(session->set_input(0, network(1, false).constants.data(), 24).ok());  // m = 2
  const Status status = session->run();
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), testing::HasSubstr("method 'forward' with m=2, n=64: method "
                                                   "'forward', node 2 (binary): Add: shapes"));
}

std::set<std::string> threads_of_process() {
  std::set<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(entry.path().filename());
  return ids;
}

/// Counts what the Program allocates: its packed weights.
struct Counter {
  test::Meter meter;
  int calls = 0;
  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) {
              auto* c = static_cast<Counter*>(self);
              ++c->calls;
              const AllocatorHooks inner = c->meter.hooks();
              return inner.allocate(inner.context, bytes, alignment);
            },
            [](void* self, void* p) {
              const AllocatorHooks inner = static_cast<Counter*>(self)->meter.hooks();
              inner.release(inner.context, p);
            }};
  }
};

TEST(Dynamic, WeightsArePackedOnceAndThreadsStay) {
  Counter counter;
  LoadOptions load;
  load.allocator = counter.hooks();
  const test::AlignedBytes file = test::write_bundle(network(4, true));
  const auto program = Program::load(file.span(), default_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const int before = counter.calls;
  auto session = Session::create(program->method(0), on(cpu_backend(), 4));
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_GT(counter.calls, before) << "nothing is packed";
  run(&*session, 4);
  const int at_first = counter.calls;
  for (int64_t batch : {1, 64}) run(&*session, batch);
  const int packed = counter.calls;
  EXPECT_LE(packed, at_first + 2) << "more than one other form of the two weights";  // by AVX2
  const auto threads = threads_of_process();
  EXPECT_GE(threads.size(), 4u);
  for (int64_t batch : {1, 64, 17, 4, 5}) {
    run(&*session, batch);
    EXPECT_EQ(counter.calls, packed) << batch;
    EXPECT_EQ(threads_of_process(), threads) << batch;
  }
}

}  // namespace
}  // namespace lazyrt
