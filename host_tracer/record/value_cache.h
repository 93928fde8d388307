#pragma once

// Values of a running capture, computed by eager ATen on the sample, each once.

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

#include <unordered_map>
#include <vector>

#include "host_tracer/record/capture_node.h"

namespace lazyrt {

class ValueCache {
 public:
  /// `nodes` are the capture's, in order; an operator's `sequence` is its place in them. Must
  /// outlive the cache.
  explicit ValueCache(const std::vector<torch::lazy::NodePtr>& nodes) : nodes_(nodes) {}

  /// The value on the CPU. It may share memory with the cache and with leaves: never write into
  /// it. Each node is computed once: asking after every step of a loop takes linear time. What
  /// nothing can ask for again is dropped. Throws c10::Error when an operator fails.
  at::Tensor get(const torch::lazy::Value& value);

 private:
  using Results = std::vector<at::Tensor>;

  std::vector<const OpNode*> missing(const torch::lazy::Node* root) const;
  void evaluate(const OpNode& op);
  at::Tensor result(const torch::lazy::Node* node, size_t index) const;
  void sweep();

  const std::vector<torch::lazy::NodePtr>& nodes_;
  std::unordered_map<const torch::lazy::Node*, Results> results_;
  /// How often evaluated nodes read a node: such a use needs it no more.
  std::unordered_map<const torch::lazy::Node*, long> past_uses_;
  size_t bytes_ = 0;
  size_t sweep_at_ = size_t{64} << 20;
};

}  // namespace lazyrt
