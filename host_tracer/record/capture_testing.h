#pragma once

// What the tests of capture share.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/record/trace_eval.h"

namespace lazyrt::capture_testing {

using Tensors = std::vector<at::Tensor>;

inline CaptureRequest request_for(const Tensors& inputs) {
  CaptureRequest request;
  for (size_t i = 0; i < inputs.size(); ++i) {
    request.inputs.push_back({"x" + std::to_string(i), inputs[i]});
  }
  return request;
}

inline void expect_close(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  ASSERT_EQ(got.scalar_type(), want.scalar_type());
  if (want.numel() == 0) return;
  const at::Tensor g = got.to(at::kDouble), w = want.to(at::kDouble);
  const double scale = std::max(1e-30, w.abs().max().item<double>());
  EXPECT_LE((g - w).abs().max().item<double>() / scale, 1e-5);
}

/// Captures, checks that no shape needed the CPU, evaluates and compares with the eager program.
inline Trace check_capture(const Tensors& inputs, const CaptureProgram& program) {
  auto trace = capture(request_for(inputs), program);
  EXPECT_TRUE(trace.ok()) << trace.failure().text;
  if (!trace.ok()) return {};
  EXPECT_EQ(trace->shapes.cpu, 0) << trace->text();
  const auto got = evaluate_trace(*trace, inputs);
  EXPECT_TRUE(got.ok()) << got.failure().text << "\n" << trace->text();
  if (!got.ok()) return *trace;
  Tensors copies;
  for (const at::Tensor& t : inputs) copies.push_back(t.clone());
  const Tensors want = program(copies);
  EXPECT_EQ(got->size(), want.size());
  for (size_t i = 0; i < std::min(got->size(), want.size()); ++i) {
    if (want[i].defined()) expect_close((*got)[i], want[i]);
  }
  return *trace;
}

inline std::string failure_of(const Tensors& inputs, const CaptureProgram& program) {
  const auto trace = capture(request_for(inputs), program);
  return trace.ok() ? "" : trace.failure().text;
}

inline size_t count(const Trace& trace, const std::string& op) {
  return static_cast<size_t>(std::count_if(trace.nodes.begin(), trace.nodes.end(),
                                           [&](const TraceNode& n) { return n.op == op; }));
}

inline Trace checked(const CaptureRequest& request, const CaptureProgram& program,
                     const CheckOptions& options = {}) {
  auto trace = capture_checked(request, program, options);
  EXPECT_TRUE(trace.ok()) << trace.failure().text;
  return trace.ok() ? *trace : Trace{};
}

inline Trace checked(const Tensors& inputs, const CaptureProgram& program,
                     const CheckOptions& options = {}) {
  return checked(request_for(inputs), program, options);
}

inline std::string all_findings(const Trace& trace) {
  std::string text;
  for (const Finding& finding : trace.findings) text += finding.id + ": " + finding.message + "\n";
  return text;
}

inline const Finding* find(const Trace& trace, const std::string& id) {
  for (const Finding& finding : trace.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

/// The guards hold, and the outputs are the eager program's.
inline void expect_same(const Trace& trace, const Tensors& inputs, const CaptureProgram& program) {
  const auto got = run_trace(trace, inputs);
  ASSERT_TRUE(got.ok()) << got.failure().text << "\n" << trace.text();
  EXPECT_TRUE(guards_hold(trace, got->guards)) << trace.text();
  Tensors copies;
  for (const at::Tensor& t : inputs) copies.push_back(t.clone());
  const Tensors want = program(copies);
  ASSERT_EQ(got->outputs.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) expect_close(got->outputs[i], want[i]);
}

inline void expect_refused(const Trace& trace, const Tensors& inputs) {
  const auto got = run_trace(trace, inputs);
  EXPECT_TRUE(!got.ok() || !guards_hold(trace, got->guards)) << trace.text();
}

inline SourceScope at_line(int line) { return SourceScope({"", "model.py", line, ""}); }

}  // namespace lazyrt::capture_testing
