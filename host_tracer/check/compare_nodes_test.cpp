// compare on bundles that are right, and on bundles of which one weight or attribute is not.

#include "host_tracer/check/compare_nodes.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host_tracer/check/compare_text.h"
#include "host_tracer/compile/exporter.h"
#include "host_tracer/record/capture_testing.h"
#include "runtime/bundle/reader.h"
#include "tests/fuzz/bundle_edit.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt {
namespace {

using capture_testing::checked;
using capture_testing::Tensors;
using ::testing::HasSubstr;

at::Tensor filter(std::vector<int64_t> shape) { return at::randn(shape) * 0.3; }

/// Convolution, batch norm and relu in channels-last, a residual, pooling, a linear layer.
CaptureProgram small_network() {
  at::manual_seed(3);
  const at::Tensor w1 = filter({8, 3, 3, 3}), w2 = filter({8, 8, 3, 3}), b1 = filter({8});
  const at::Tensor mean = filter({8}), var = at::rand({8}) + 0.5, scale = at::rand({8}) + 0.5;
  const at::Tensor fc = filter({5, 8}), fb = filter({5});
  return [=](const Tensors& in) -> Tensors {
    const at::Tensor one = at::conv2d(in[0], w1, b1, 1, 1);
    const at::Tensor a =
        at::relu(at::batch_norm(one, scale, b1, mean, var, false, 0.1, 1e-5, false));
    const at::Tensor b = at::relu(at::conv2d(a, w2, {}, 1, 1)) + a;
    return {at::softmax(at::linear(b.mean({2, 3}), fc, fb), 1)};
  };
}

/// What a rule makes of several nodes, or of none: layer norm, attention, reshapes, an argmax.
CaptureProgram attention() {
  at::manual_seed(4);
  const at::Tensor q = filter({16, 16}), k = filter({16, 16}), g = at::rand({16}), h = filter({16});
  return [=](const Tensors& in) -> Tensors {
    const at::Tensor x = at::layer_norm(in[0], {16}, g, h);
    const at::Tensor a =
        at::softmax(at::matmul(at::matmul(x, q), at::matmul(x, k).transpose(1, 2)), 2);
    const at::Tensor y = at::gelu(at::matmul(a, x)).reshape({2, 80});
    return {y, at::argmax(y, 1)};
  };
}

class CompareNodes : public ::testing::Test {
 protected:
  CompareNodes()
      : path_((std::filesystem::temp_directory_path() /
               ("lazyrt_compare_" + std::to_string(getpid()) + ".lzb"))
                  .string()) {}
  ~CompareNodes() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  void export_bundle(const Trace& trace, const Pipeline& pipeline = default_pipeline()) {
    ExportOptions options;
    options.path = path_;
    options.pipeline = pipeline;
    const auto exported = export_trace(trace, default_ops(), options);
    ASSERT_TRUE(exported.ok()) << exported.failure().text;
    std::ifstream file(path_, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    file_ = test::AlignedBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ASSERT_TRUE(fuzz::read_parts(file_.span(), &parts_));
  }

  void write(const test::AlignedBytes& bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  NodeComparison compare(const Trace& trace, const Backend* backend = cpu_backend(),
                         double relative = 0) const {
    const auto bundle = LoadedBundle::open(path_);
    EXPECT_TRUE(bundle.ok()) << bundle.failure().text;
    CompareOptions options;
    options.backend = backend;
    options.relative = relative;
    auto comparison = compare_nodes(**bundle, trace, options);
    EXPECT_TRUE(comparison.ok()) << comparison.failure().text;
    return comparison.ok() ? *comparison : NodeComparison();
  }

  fb::MethodT& method() { return *parts_.bundle.methods[0]; }
  std::vector<int> readers_of(int value) {
    std::vector<int> readers;
    for (size_t n = 0; n < method().nodes.size(); ++n) {
      const auto& inputs = method().nodes[n]->inputs;
      if (std::find(inputs.begin(), inputs.end(), value) != inputs.end())
        readers.push_back(static_cast<int>(n));
    }
    return readers;
  }

  /// Damages each constant in turn: compare has to name the first node that reads it, or, if that
  /// may be without a pair, a `later` one.
  size_t damage_constants(const Trace& trace, bool later = false) {
    size_t damaged = 0;
    for (size_t id = 0; id < method().values.size(); ++id) {
      const fb::ValueT& value = *method().values[id];
      const bool is_weight = value.kind == fb::ValueKind::Constant &&
                             value.dtype == fb::DType::Float32 && value.bytes >= 8;
      if (!is_weight) continue;
      test::AlignedBytes bytes = file_.copy();
      float element = 0;
      uint8_t* at =
          bytes.data() + bytes.prolog().constants_offset + value.offset + value.bytes / 8 * 4;
      std::memcpy(&element, at, sizeof element);
      element += 2;
      std::memcpy(at, &element, sizeof element);
      test::reseal(&bytes);
      write(bytes);
      const NodeComparison found = compare(trace);
      EXPECT_TRUE(found.first) << "value " << id << "\n" << compare_table(found);
      if (!found.first) continue;
      const ComparedValue& first = found.values[*found.first];
      const int reader = readers_of(static_cast<int>(id)).front();
      EXPECT_TRUE(static_cast<int>(first.node) == reader ||
                  (later && static_cast<int>(first.node) > reader))
          << "value " << id << "\n"
          << compare_table(found);
      EXPECT_TRUE(first.operands_ok);
      EXPECT_GT(first.of_bound, 1);
      ++damaged;
    }
    return damaged;
  }

  const std::string path_;
  test::AlignedBytes file_;
  test::BundleParts parts_;
};

TEST_F(CompareNodes, EveryValueOfARightBundleIsComparedAndAgrees) {
  const std::pair<Tensors, CaptureProgram> programs[] = {
      {{at::randn({1, 3, 10, 10})}, small_network()}, {{at::randn({2, 5, 16})}, attention()}};
  for (const auto& [inputs, program] : programs) {
    const Trace trace = checked(inputs, program);
    export_bundle(trace);
    for (const Backend* backend : {cpu_backend(), reference_backend()}) {
      const NodeComparison found = compare(trace, backend);
      EXPECT_FALSE(found.first) << compare_table(found);
      EXPECT_TRUE(found.is_exact);
      EXPECT_EQ(found.compared, found.values.size()) << compare_table(found);
      EXPECT_GE(found.by_eager * 3, found.compared * 2) << compare_table(found);
      EXPECT_EQ(found.values.size(), method().nodes.size());
      EXPECT_FALSE(is_difference(found));
    }
  }
}

TEST_F(CompareNodes, ADamagedWeightIsNamed) {
  const Trace trace = checked({at::randn({1, 3, 10, 10})}, small_network());
  export_bundle(trace);
  EXPECT_GE(damage_constants(trace), 5u);
}

TEST_F(CompareNodes, SoItIsWhereARuleMadeSeveralNodes) {
  const Trace trace = checked({at::randn({2, 5, 16})}, attention());
  export_bundle(trace);
  EXPECT_GE(damage_constants(trace), 3u);
}

/// An operator that is another function, in each node that has one.
TEST_F(CompareNodes, ADamagedAttributeIsNamed) {
  at::manual_seed(5);
  const at::Tensor w = filter({4, 4});
  const Trace trace = checked({at::randn({3, 4}) * 2}, [=](const Tensors& in) -> Tensors {
    const at::Tensor a = at::tanh(at::matmul(in[0], w));
    const at::Tensor b = at::sigmoid(a) * in[0];
    return {at::exp(b - a), at::clamp(b, -0.5, 0.5)};
  });
  export_bundle(trace);
  size_t damaged = 0;
  for (size_t n = 0; n < method().nodes.size(); ++n) {
    ASSERT_TRUE(fuzz::read_parts(file_.span(), &parts_));
    fb::OpAttrsUnion& op = method().nodes[n]->op;
    if (fb::UnaryT* unary = op.AsUnary()) {
      unary->fn = fb::UnaryFn::Neg;
    } else if (fb::BinaryT* binary = op.AsBinary()) {
      binary->fn = fb::BinaryFn::Maximum;
    } else {
      continue;
    }
    write(test::write_bundle(parts_));
    const NodeComparison found = compare(trace);
    ASSERT_TRUE(found.first) << n << "\n" << compare_table(found);
    EXPECT_EQ(found.values[*found.first].node, n) << compare_table(found);
    ++damaged;
  }
  EXPECT_GE(damaged, 5u);
}

/// As by an exporter that did less: what has no counterpart is told, the rest is compared.
TEST_F(CompareNodes, ABundleOfOtherPassesIsComparedAsFarAsItGoes) {
  const Trace trace = checked({at::randn({1, 3, 10, 10})}, small_network());
  for (const char* left_out :
       {"fuse_clamp", "fold_batch_norm", "assign_layout", "eliminate_common"}) {
    Pipeline pipeline = default_pipeline();
    std::erase_if(pipeline, [&](const Pass& pass) { return pass.name == left_out; });
    export_bundle(trace, pipeline);
    damage_constants(trace, /*later=*/true);
    write(file_);
    const NodeComparison found = compare(trace);
    EXPECT_FALSE(found.first) << left_out << "\n" << compare_table(found);
    EXPECT_GT(found.by_eager, 2u) << left_out << "\n" << compare_table(found);
    for (const ComparedValue& value : found.values) {
      if (value.expected != ExpectedBy::kNothing) continue;
      EXPECT_THAT(value.why, HasSubstr("a new export of the model"));
    }
  }
}

TEST_F(CompareNodes, AnotherModelIsAnotherProgram) {
  const Trace trace = checked({at::randn({1, 3, 10, 10})}, small_network());
  export_bundle(trace);
  const Trace other = checked({at::randn({1, 3, 10, 10})}, [](const Tensors& in) -> Tensors {
    return {at::hardswish(in[0].mean({2, 3}))};
  });
  const NodeComparison found = compare(other);
  EXPECT_FALSE(found.is_exact);
  EXPECT_THAT(compare_verdict(found), HasSubstr("another program"));
}

TEST_F(CompareNodes, AGivenBoundCounts) {
  const Trace trace = checked({at::randn({1, 3, 10, 10})}, small_network());
  export_bundle(trace);
  EXPECT_FALSE(compare(trace, cpu_backend(), 1e-3).first);
  EXPECT_TRUE(compare(trace, cpu_backend(), 1e-12).first);
}

TEST_F(CompareNodes, JsonAndTextNameTheNode) {
  const Trace trace = checked({at::randn({1, 3, 10, 10})}, small_network());
  export_bundle(trace);
  const NodeComparison right = compare(trace);
  EXPECT_EQ(compare_json(right)["first"], nullptr);
  EXPECT_EQ(compare_json(right)["values"].size(), right.values.size());
  EXPECT_THAT(compare_verdict(right), HasSubstr("no value differs from eager's"));
  EXPECT_THAT(compare_table(right), HasSubstr("conv2d"));
}

}  // namespace
}  // namespace lazyrt
