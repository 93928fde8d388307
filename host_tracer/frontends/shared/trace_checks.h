#pragma once

// What the tests of front ends ask of a trace.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/trace_eval.h"

namespace lazyrt::test {

inline size_t count_calls(const Trace& trace, const std::string& op) {
  return static_cast<size_t>(std::count_if(trace.nodes.begin(), trace.nodes.end(),
                                           [&](const TraceNode& n) { return n.op == op; }));
}

inline bool has_finding(const Trace& trace, const std::string& id) {
  return std::any_of(trace.findings.begin(), trace.findings.end(),
                     [&](const Finding& f) { return f.id == id; });
}

/// Equal shapes and, within 1e-5 of the largest value, equal numbers.
inline void expect_close(const at::Tensor& got, const at::Tensor& want, const std::string& what) {
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  ASSERT_EQ(got.scalar_type(), want.scalar_type()) << what;
  if (want.numel() == 0) return;
  const double scale = std::max(1e-30, want.abs().max().item<double>());
  EXPECT_LE((got - want).abs().max().item<double>() / scale, 1e-5) << what;
}

/// The trace's outputs for its sample inputs by eager ATen, none if it fails, which the test does
/// then, too. Also expects that no shape was found by running an operator.
inline std::vector<at::Tensor> outputs_of(const Trace& trace) {
  EXPECT_EQ(trace.shapes.cpu, 0) << trace.text();
  EXPECT_EQ(trace.sample_outputs.size(), trace.outputs.size());
  std::vector<at::Tensor> inputs;
  for (const SampleTensor& sample : trace.sample_inputs) inputs.push_back(from_sample(sample));
  auto got = evaluate_trace(trace, inputs);
  EXPECT_TRUE(got.ok()) << got.failure().text;
  return got.ok() ? std::move(*got) : std::vector<at::Tensor>();
}

}  // namespace lazyrt::test
