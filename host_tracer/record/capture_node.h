#pragma once

// The nodes that capture puts into the lazy core's graph.

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

#include <string>
#include <utility>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// An input, parameter, buffer or constant; holds its bytes on the CPU, of a constant a copy.
class LeafNode final : public torch::lazy::Node {
 public:
  LeafNode(LeafKind kind, std::string name, const at::Tensor& cpu);

  LeafKind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  const at::Tensor& data() const { return data_; }
  /// True when the program wrote into the CPU tensor after the leaf was made of it.
  bool data_was_written() const;
  /// A buffer (or parameter) that the program writes through lift().
  void become_state() { kind_ = LeafKind::kState; }
  /// See CaptureRequest::varying.
  void mark_varying() { varying_ = true; }
  bool varying() const { return varying_; }
  /// See CaptureRequest::held.
  void mark_held() { held_ = true; }
  bool held() const { return held_; }
  /// A constant that was drawn at random while capturing.
  void mark_random() { random_ = true; }
  bool random() const { return random_; }
  /// The capture is over: see earlier_capture().
  void end() { ended_ = true; }
  bool ended() const { return ended_; }

  torch::lazy::hash_t hash() const override { return hash_; }
  torch::lazy::hash_t shapeHash() const override { return hash_; }

 private:
  LeafKind kind_;
  std::string name_;
  at::Tensor cpu_;
  at::Tensor data_;
  uint32_t version_;
  bool varying_ = false;
  bool held_ = false;
  bool random_ = false;
  bool ended_ = false;
  torch::lazy::hash_t hash_;
};

/// Names and values of an operator's arguments. A TensorArg indexes the node's operands here.
using OpArgs = std::vector<std::pair<std::string, TraceArg>>;

/// One captured call of an operator.
class OpNode final : public torch::lazy::Node {
 public:
  struct Call {
    std::string op;        ///< "aten::add"
    std::string overload;  ///< "Tensor"
    OpArgs args;
    std::vector<int32_t> results;  ///< flattened results: output index, or -1 for an undefined one
    Source source;
    int64_t sequence = 0;  ///< place among all nodes of the capture
    int64_t position = 0;  ///< calls recorded before it
    bool depends_on_input = false;
    bool depends_on_buffer = false;  ///< neither: a function of constants and parameters alone
  };

  OpNode(Call call, const std::vector<torch::lazy::Value>& operands,
         std::vector<torch::lazy::Shape> shapes);

  const Call& call() const { return call_; }
  /// The capture is over: releases the operands, so that a deep graph is not released by recursion.
  /// The node cannot be used afterwards.
  void end() {
    operands_.clear();
    operands_as_outputs_.clear();
    ended_ = true;
  }
  bool ended() const { return ended_; }

  torch::lazy::hash_t hash() const override { return hash_; }
  torch::lazy::hash_t shapeHash() const override { return hash_; }

 private:
  Call call_;
  bool ended_ = false;
  torch::lazy::hash_t hash_;
};

/// The node as a leaf or an operator; nullptr when it is the other.
const LeafNode* as_leaf(const torch::lazy::Node* node);
const OpNode* as_op(const torch::lazy::Node* node);

/// True for a node of a capture that is over: what the program kept of it is no longer a tensor.
bool of_ended_capture(const torch::lazy::Node* node);

/// True when the value is or depends on an input.
bool depends_on_input(const torch::lazy::Node* node);
/// True when the value is or depends on a buffer (which the program may write, later).
bool depends_on_buffer(const torch::lazy::Node* node);

/// The value as an expression of at most `depth` calls, for people: "gt(sum(x0), 0)".
std::string expression_text(const torch::lazy::Node* node, int depth);

}  // namespace lazyrt
