// What a small file makes a Program and its sessions take stays within the stated budget, or is
// refused by name.

#include <gmock/gmock.h>

#include "tests/hostile/agreement.h"
#include "tests/hostile/shared_tables.h"
#include "tests/support/meter.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::Meter;
using test::MethodBuilder;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

/// What loading and a session on cpu took.
struct Taken {
  Status status;
  uint64_t load_peak = 0;     ///< of the hooks of load, before there was a session
  uint64_t packed = 0;        ///< of the hooks of load, with the session: packed weights
  uint64_t session_peak = 0;  ///< of the session's hooks
  SessionStats stats;
  std::string first_backend, first_reason;
};

Taken take(Span<const uint8_t> file, uint64_t memory_limit = 0) {
  Taken taken;
  Meter load_meter, session_meter;
  {
    LoadOptions load;
    load.allocator = load_meter.hooks();
    const Result<Program> program = Program::load(file, default_ops(), load);
    taken.status = program.status();
    taken.load_peak = load_meter.peak();
    if (!program.ok()) return taken;
    const uint64_t before = load_meter.live();
    SessionOptions options;
    options.backend = cpu_backend();
    options.memory_limit = memory_limit;
    options.allocator = session_meter.hooks();
    const Result<Session> session = Session::create(program->method(0), options);
    taken.status = session.status();
    taken.session_peak = session_meter.peak();
    taken.packed = load_meter.live() - before;
    if (session.ok()) {
      taken.stats = session->stats();
      taken.first_backend = session->node(0)->backend;
      taken.first_reason = session->node(0)->fallback_reason;
      EXPECT_LE(taken.stats.total_bytes, session_meter.live() + taken.packed);
    }
  }
  EXPECT_EQ(session_meter.live(), 0u);
  EXPECT_EQ(load_meter.live(), 0u);
  return taken;
}

Taken take(const BundleParts& parts, uint64_t memory_limit = 0) {
  return take(test::write_bundle(parts).span(), memory_limit);
}

std::vector<float> zeros(size_t n) { return std::vector<float>(n, 0.0f); }

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t d : shape) count *= static_cast<size_t>(d);
  return count;
}

/// Bytes of x, w and y of one_node.
uint64_t operand_bytes(const BundleParts& parts) {
  uint64_t bytes = 0;
  for (const auto& value : parts.bundle.methods[0]->values) bytes += value->bytes;
  return bytes;
}

template <class Table>
BundleParts one_node(const Table& table, const std::vector<int64_t>& x,
                     const std::vector<int64_t>& w) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int input = b.input("x", DType::kFloat32, x);
  const int weights = b.constant("w", DType::kFloat32, w, zeros(count_of(w)).data());
  b.output("y", b.infer(default_ops(), table, {input, weights}));
  return parts;
}

template <class Table>
Table padded(int before, int after) {
  Table table;
  table.pad_top = table.pad_left = before;
  table.pad_bottom = table.pad_right = after;
  return table;
}

/// One node: arena and workspace, 1 MiB, 16 times its operands and results, and some KiB of plan.
void expect_one_nodes_budget(const BundleParts& parts) {
  const Taken taken = take(parts);
  ASSERT_TRUE(taken.status.ok()) << taken.status.message();
  EXPECT_LE(taken.session_peak, parts.bundle.methods[0]->arena_bytes + taken.stats.workspace_bytes +
                                    kMiB + 16 * operand_bytes(parts) + (16 << 10));
  EXPECT_LE(taken.packed, 4 * kMiB + 8 * operand_bytes(parts) + 4096);
}

TEST(Memory, PointersToTheInputStayInProportion) {
  expect_one_nodes_budget(one_node(padded<fb::Conv2dT>(15, 14), {1, 300, 300, 2}, {1, 30, 30, 2}));
  expect_one_nodes_budget(
      one_node(padded<fb::ConvTranspose2dT>(15, 14), {1, 300, 300, 2}, {1, 30, 30, 2}));
  expect_one_nodes_budget(
      one_node(padded<fb::Conv2dT>(50, 49), {1, 500, 500, 2}, {1, 100, 100, 2}));
  fb::Conv2dT depthwise = padded<fb::Conv2dT>(50, 49);
  depthwise.groups = 2;
  expect_one_nodes_budget(one_node(depthwise, {1, 300, 300, 2}, {2, 100, 100, 1}));
}

TEST(Memory, ARecordForEachStrideStaysInProportion) {
  fb::ConvTranspose2dT up;
  up.stride_h = up.stride_w = 512;
  const BundleParts parts = one_node(up, {1, 1, 1, 1}, {1, 512, 512, 1});
  expect_one_nodes_budget(parts);
  EXPECT_LT(take(parts).session_peak, 4 * kMiB);
}

TEST(Memory, PaddedPackingsStayInProportion) {
  if (!LAZYRT_HAS_XNNPACK) GTEST_SKIP() << "grouped convolutions are packed by XNNPACK alone";
  fb::Conv2dT grouped;
  grouped.groups = 1 << 18;
  const BundleParts many = one_node(grouped, {1, 1, 1, 1 << 19}, {1 << 18, 1, 1, 2});
  expect_one_nodes_budget(many);
  const Taken taken = take(many);
#ifdef __riscv
  // XNNPACK's scalar kernels are all that it has there: they pad a channel to few others.
  EXPECT_EQ(taken.first_backend, "cpu");
#else
  EXPECT_EQ(taken.first_backend, "reference");
  EXPECT_THAT(taken.first_reason, HasSubstr("more than a node of its size may take"));
#endif
  expect_one_nodes_budget(one_node(fb::Conv2dT(), {1, 1, 1, 1 << 20}, {1, 1, 1, 1 << 20}));
  expect_one_nodes_budget(one_node(fb::LinearT(), {1, 1 << 20}, {1, 1 << 20}));
}

/// Packed copies: 64 MiB and 4 times the constants.
void expect_packed_budget(const BundleParts& parts) {
  const Taken taken = take(parts);
  ASSERT_TRUE(taken.status.ok()) << taken.status.message();
  EXPECT_LE(taken.packed, 64 * kMiB + 4 * parts.constants.size() + kMiB);
  EXPECT_EQ(taken.first_backend, "cpu");
}

TEST(Memory, AConstantIsNotPackedAnewForEachNode) {
  if (!LAZYRT_HAS_XNNPACK) GTEST_SKIP() << "only XNNPACK packs a constant in several ways";
  constexpr int64_t kSide = 1024;
  constexpr int kNodes = 40;
  BundleParts shifted, shaped, strided;
  MethodBuilder a(&shifted), b(&shaped), c(&strided);
  const std::vector<float> w = zeros(kSide * kSide + 16 * kNodes);
  const int x = a.input("x", DType::kFloat32, {1, kSide});
  const int image = c.input("x", DType::kFloat32, {1, 2, 2, 16});
  uint64_t offset = 0, first = 0;
  for (int i = 0; i < kNodes; ++i) {
    const bool is_first = i == 0;
    int id =
        is_first ? a.constant("w", DType::kFloat32, {kSide * kSide + 16 * kNodes}, w.data()) : 0;
    if (is_first) offset = a.method().values[static_cast<size_t>(id)]->offset;
    id = a.constant("w" + std::to_string(i), DType::kFloat32, {kSide, kSide}, w.data());
    fb::ValueT& value = *a.method().values[static_cast<size_t>(id)];
    shifted.constants.resize(value.offset);
    value.offset = offset + 64 * static_cast<uint64_t>(i);
    a.output("y" + std::to_string(i), a.infer(default_ops(), fb::LinearT(), {x, id}));

    const int64_t columns = kSide - i;
    const int in = b.input("x" + std::to_string(i), DType::kFloat32, {1, columns});
    id = b.constant("w" + std::to_string(i), DType::kFloat32, {kSide, columns}, w.data());
    fb::ValueT& shape = *b.method().values[static_cast<size_t>(id)];
    if (is_first) first = shape.offset;
    if (!is_first) shaped.constants.resize(shape.offset);
    shape.offset = first;
    b.output("y" + std::to_string(i), b.infer(default_ops(), fb::LinearT(), {in, id}));

    fb::ConvTranspose2dT up;
    up.stride_h = 1 + i % 8, up.stride_w = 1 + i / 8;
    const int filter = is_first ? c.constant("w", DType::kFloat32, {64, 8, 8, 16}, w.data()) : 1;
    c.output("y" + std::to_string(i), c.infer(default_ops(), up, {image, filter}));
  }
  expect_packed_budget(shifted);
  expect_packed_budget(shaped);
  expect_packed_budget(strided);
}

BundleParts tiny_convolutions(int count) {
  BundleParts parts;
  MethodBuilder b(&parts);
  int x = b.input("x", DType::kFloat32, {1, 3, 3, 2});
  const int w = b.constant("w", DType::kFloat32, {2, 2, 2, 2}, zeros(16).data());
  fb::Conv2dT conv;
  conv.pad_top = conv.pad_left = 1;
  for (int i = 0; i < count; ++i) x = b.infer(default_ops(), conv, {x, w});
  b.output("y", x);
  return parts;
}

TEST(Memory, ANodeTakesAtMostEightKiB) {
  const BundleParts few = tiny_convolutions(100), many = tiny_convolutions(3100);
  const Taken a = take(few), b = take(many);
  ASSERT_TRUE(b.status.ok()) << b.status.message();
  const uint64_t arenas = many.bundle.methods[0]->arena_bytes - few.bundle.methods[0]->arena_bytes;
  const uint64_t node = (b.session_peak - a.session_peak - arenas) / 3000;
  EXPECT_LE(node, 8192u + 256 + 3 * 128);
  EXPECT_GT(node, LAZYRT_HAS_XNNPACK ? 1000u : 0u) << "XNNPACK's operators are counted";
  EXPECT_EQ(b.first_backend, "cpu");
}

TEST(Memory, TheLimitIsNamedWithTheNode) {
  if (!LAZYRT_HAS_XNNPACK) GTEST_SKIP() << "it takes XNNPACK's operators to exceed this limit";
  const Taken taken = take(tiny_convolutions(3000), 4 * kMiB);
  EXPECT_EQ(taken.status.error(), Error::kOutOfMemory);
  EXPECT_THAT(taken.status.message(), HasSubstr("SessionOptions::memory_limit of 4194304"));
  EXPECT_THAT(taken.status.message(), HasSubstr("(conv2d)"));
  const uint64_t session_itself = 8192;  // which the limit does not count
  EXPECT_LE(taken.session_peak, 4 * kMiB + session_itself);
}

/// A network of L layers of one unit that share their weights.
BundleParts deep_gru(int layers) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {1, 1, 2});
  std::vector<int> operands = {x, b.input("h0", DType::kFloat32, {2 * layers, 1, 1})};
  const int w_ih = b.constant("w_ih", DType::kFloat32, {3, 2}, zeros(6).data());
  const int w_hh = b.constant("w_hh", DType::kFloat32, {3, 1}, zeros(3).data());
  for (int i = 0; i < 2 * layers; ++i) operands.insert(operands.end(), {w_ih, w_hh});
  fb::GruT gru;
  gru.layers = layers;
  gru.bidirectional = true;
  gru.has_bias = false;
  b.output("y", b.infer(default_ops(), gru, operands));
  return parts;
}

TEST(Memory, ManyLayersRunOnTheReference) {
  const BundleParts deep = deep_gru(15000);
  const Taken taken = take(deep);
  ASSERT_TRUE(taken.status.ok()) << taken.status.message();
  EXPECT_EQ(taken.first_backend, "reference");
  EXPECT_LE(taken.session_peak, 2 * kMiB + 60000 * 256);
  EXPECT_EQ(take(deep_gru(30)).first_backend, "cpu");
  const Taken deeper = take(deep_gru(17000));
  EXPECT_EQ(deeper.status.error(), Error::kInvalidBundle);
  EXPECT_THAT(deeper.status.message(), HasSubstr("68004 operands, at most 65536 are allowed"));
}

BundleParts wide_concat(int operands) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {1});
  b.output("y", b.infer(default_ops(), fb::ConcatT(),
                        std::vector<int>(static_cast<size_t>(operands), x)));
  return parts;
}

TEST(Memory, OperandsAreLimitedAndTakeLittle) {
  const Taken wide = take(wide_concat(65535));
  ASSERT_TRUE(wide.status.ok()) << wide.status.message();
  EXPECT_LE(wide.load_peak, 65536u * 128 + kMiB);
  EXPECT_LE(wide.session_peak, 65536u * (128 + 88) + 2 * kMiB);
  const Taken wider = take(wide_concat(200000));
  EXPECT_EQ(wider.status.error(), Error::kInvalidBundle);
  EXPECT_THAT(wider.status.message(), HasSubstr("200001 operands, at most 65536 are allowed"));
  EXPECT_LE(wider.load_peak, kMiB);
}

/// A method with `count` times the same constant: 4 bytes of the file for each.
test::AlignedBytes one_table_for_all_values(size_t count) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<int64_t> shape = {1};
  const auto value = fb::CreateValueDirect(b, "c", fb::ValueKind::Constant, fb::DType::Float32,
                                           &shape, nullptr, 0, 4);
  std::vector<flatbuffers::Offset<fb::Value>> values(count, value);
  return test::file_of_shared_tables(b, b.CreateVector(values), 0, count * 40);
}

TEST(Memory, AValueTakesAtMostAQuarterKiB) {
  constexpr uint64_t kValues = 200000;
  Meter meter;
  LoadOptions load;
  load.allocator = meter.hooks();
  const test::AlignedBytes file = one_table_for_all_values(kValues);
  const Result<Program> program = Program::load(file.span(), default_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_LE(meter.peak(), kValues * 256);
  Meter session_meter;
  SessionOptions options;
  options.backend = cpu_backend();
  options.allocator = session_meter.hooks();
  const Result<Session> session = Session::create(program->method(0), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_LE(session_meter.peak(), kValues * 256);
}

TEST(Memory, PackedWeightsOfTheProgramCountForEverySession) {
  const BundleParts parts = one_node(fb::LinearT(), {1, 512}, {512, 512});
  const test::Loaded loaded(parts, default_ops());
  SessionOptions options;
  options.backend = cpu_backend();
  const Session first = test::make(loaded.method(), options);
  ASSERT_GE(first.stats().packed_weight_bytes, kMiB);
  const Session second = test::make(loaded.method(), options);
  EXPECT_EQ(second.stats().packed_weight_bytes, 0u);
  EXPECT_GE(second.stats().total_bytes, kMiB);
  options.memory_limit = kMiB;
  const Status status = Session::create(loaded.method(), options).status();
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("packed weights"));
}

}  // namespace
}  // namespace lazyrt
