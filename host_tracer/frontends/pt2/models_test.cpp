// The models of tests/models, captured and evaluated node by node beside eager ATen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "host_tracer/frontends/pt2/pt2.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/record/compute_calls.h"
#include "host_tracer/record/trace_eval.h"

namespace lazyrt {
namespace {

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  if (want.numel() == 0) return 0;
  const at::Tensor g = got.to(at::kDouble), w = want.to(at::kDouble);
  return (g - w).abs().max().item<double>() / std::max(1e-30, w.abs().max().item<double>());
}

class Models : public testing::TestWithParam<const char*> {
 protected:
  static std::string path() {
    auto file = std::filesystem::path(LAZYRT_MODELS_FOLDER) / GetParam();
    return file.replace_extension(".pt2").string();
  }
};

TEST_P(Models, CapturedWithoutComputing) {
  Pt2Options options;
  options.sample_outputs = false;
  const ComputeCalls observed;
  const auto trace = capture_pt2(path(), options);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_TRUE(observed.calls().empty()) << testing::PrintToString(observed.calls());
  EXPECT_EQ(trace->shapes.cpu, 0) << testing::PrintToString(trace->notes);
  EXPECT_GE(trace->shapes.meta + trace->shapes.rule, static_cast<int64_t>(trace->nodes.size()));
  for (const TraceNode& node : trace->nodes) {
    EXPECT_FALSE(node.source.file.empty()) << node.full_name();
  }
}

TEST_P(Models, TraceGivesEagersNumbers) {
  const auto trace = capture_pt2(path(), {});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  std::vector<at::Tensor> inputs;
  for (const SampleTensor& sample : trace->sample_inputs) inputs.push_back(from_sample(sample));
  const auto got = evaluate_trace(*trace, inputs);
  ASSERT_TRUE(got.ok()) << got.failure().text;
  ASSERT_EQ(got->size(), trace->sample_outputs.size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_LE(relative_error((*got)[i], from_sample(trace->sample_outputs[i])), 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Models,
                         testing::Values("mobilenet_v2", "mobilenet_v3_large", "resnet18",
                                         "resnet50", "efficientnet_b0", "vit_tiny", "bert_mini",
                                         "ds_cnn", "conv_gru", "llama_tiny", "unet_small"),
                         [](const auto& model) -> std::string { return model.param; });

}  // namespace
}  // namespace lazyrt
