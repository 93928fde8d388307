// What XNNPACK cannot do, or does wrongly, runs on the reference backend.

#include <filesystem>

#include "tests/hostile/agreement.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

std::vector<float> weights(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t d : shape) count *= static_cast<size_t>(d);
  return test::random_floats(count, 7);
}

template <class Table>
BundleParts one_convolution(const Table& table, std::vector<int64_t> x, std::vector<int64_t> w) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int input = b.input("x", DType::kFloat32, std::move(x));
  const std::vector<float> values = weights(w);
  const int filters = b.constant("w", DType::kFloat32, std::move(w), values.data());
  b.output("y", b.infer(default_ops(), table, {input, filters}));
  return parts;
}

std::string backend_of_first_node(const BundleParts& parts) {
  const test::Loaded loaded(parts, default_ops());
  SessionOptions options;
  options.backend = cpu_backend();
  return test::make(loaded.method(), options).node(0)->backend;
}

TEST(Xnnpack, AConvolutionOfNothingButPaddingIsAnswered) {
  fb::Conv2dT conv;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
  test::expect_agreement(one_convolution(conv, {1, 0, 0, 4}, {3, 1, 1, 4}));
}

TEST(Xnnpack, ATransposedConvolutionCutToLessThanItsStrideIsAnswered) {
  for (int kernel = 2; kernel < 8; ++kernel) {
    for (int left = 0; left < kernel; ++left) {
      fb::ConvTranspose2dT conv;
      conv.stride_h = conv.stride_w = kernel;
      conv.pad_top = conv.pad_left = left;
      conv.pad_bottom = conv.pad_right = kernel - 1 - left;
      test::expect_agreement(one_convolution(conv, {1, 1, 1, 2}, {3, kernel, kernel, 2}));
      conv.stride_h = 1;
      test::expect_agreement(one_convolution(conv, {1, 1, 1, 2}, {3, kernel, kernel, 2}));
      conv.stride_h = kernel, conv.stride_w = kernel - 1;
      test::expect_agreement(one_convolution(conv, {1, 1, 1, 2}, {3, kernel, kernel, 2}));
    }
  }
}

/// The weights of `parts` become a hole at the end of the file.
std::string with_sparse_weights(BundleParts parts, size_t weights, std::vector<int64_t> shape) {
  uint64_t bytes = sizeof(float);
  for (const int64_t d : shape) bytes *= static_cast<uint64_t>(d);
  fb::ValueT& w = *parts.bundle.methods[0]->values[weights];
  w.shape = std::move(shape);
  w.bytes = bytes;
  test::AlignedBytes file = test::write_bundle(parts);
  BundleProlog& prolog = file.prolog();
  prolog.constants_bytes = w.offset + bytes + kBundleTailBytes;
  prolog.file_bytes = prolog.constants_offset + prolog.constants_bytes;
  prolog.prolog_checksum = prolog_checksum(prolog);
  const std::string path = test::write_temp_file(file, "sparse.lzb");
  std::filesystem::resize_file(path, prolog.file_bytes);
  return path;
}

/// kernel * channels * 4 wraps in 32 bits: XNNPACK would make room for nothing and write 1 GiB.
TEST(Xnnpack, AFilterOfAGiBInASparseFileIsNotPacked) {
  constexpr int kSide = 16384;
  fb::ConvTranspose2dT up;
  up.pad_top = up.pad_left = 1, up.pad_bottom = up.pad_right = 0;
  BundleParts parts = one_convolution(up, {1, 1, 1, 1}, {1, 2, 2, 1});
  fb::ConvTranspose2dT& wide = *parts.bundle.methods[0]->nodes[0]->op.AsConvTranspose2d();
  wide.pad_top = wide.pad_left = kSide / 2, wide.pad_bottom = wide.pad_right = kSide / 2 - 1;
  const std::string path = with_sparse_weights(std::move(parts), 1, {1, kSide, kSide, 1});
  const Result<Program> program = Program::open(path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = cpu_backend();
  const Session session = test::make(program->method(0), options);
  EXPECT_STREQ(session.node(0)->backend, "reference");
  std::filesystem::remove(path);
}

TEST(Xnnpack, HealthyConvolutionsRunOnCpu) {
  if (!LAZYRT_HAS_XNNPACK) GTEST_SKIP() << "this build has no XNNPACK";
  fb::Conv2dT conv;
  EXPECT_EQ(backend_of_first_node(one_convolution(conv, {1, 9, 9, 4}, {3, 3, 3, 4})), "cpu");
  conv.groups = 4;
  EXPECT_EQ(backend_of_first_node(one_convolution(conv, {1, 9, 9, 4}, {4, 3, 3, 1})), "cpu");
  fb::ConvTranspose2dT up;
  up.stride_h = up.stride_w = 2;
  up.pad_top = up.pad_left = up.pad_bottom = up.pad_right = 1;
  EXPECT_EQ(backend_of_first_node(one_convolution(up, {1, 9, 9, 4}, {3, 4, 4, 4})), "cpu");
}

}  // namespace
}  // namespace lazyrt
