#include "host_tracer/check/rounding_model.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "host_tracer/check/altered_inputs.h"

namespace lazyrt {
namespace {

/// Which of equal elements comes first is the implementation's choice.
bool chooses_freely(const TraceNode& node) {
  for (const char* op : {"aten::topk", "aten::kthvalue", "aten::median", "aten::mode"}) {
    if (node.op == op) return true;
  }
  if (node.op != "aten::sort" && node.op != "aten::argsort") return false;
  const TraceArg* stable = node.find("stable");
  const bool* is_stable = stable ? std::get_if<bool>(stable) : nullptr;
  return is_stable == nullptr || !*is_stable;
}

bool adds_products(const TraceNode& node) {
  for (const char* op :
       {"aten::convolution", "aten::linear", "aten::addmm", "aten::mm", "aten::matmul", "aten::bmm",
        "aten::baddbmm", "aten::einsum", "aten::scaled_dot_product_attention"}) {
    if (node.op == op) return true;
  }
  return false;
}

/// How many products each sum has: the size of one filter, or of a row of the first factor.
double terms_of(const Trace& trace, const TraceNode& node) {
  const auto shape_of = [&trace](const TraceArg* arg) -> const std::vector<int64_t>* {
    const auto* tensor = arg ? std::get_if<TensorArg>(arg) : nullptr;
    if (!tensor || tensor->value == kNoTraceValue) return nullptr;
    return &trace.values[static_cast<size_t>(tensor->value)].shape;
  };
  if (const auto* weight = shape_of(node.find("weight")); weight && !weight->empty()) {
    return static_cast<double>(
        std::accumulate(weight->begin() + 1, weight->end(), int64_t{1}, std::multiplies<>()));
  }
  for (const char* name : {"self", "mat1", "batch1", "query"}) {
    const auto* shape = shape_of(node.find(name));
    if (shape && !shape->empty()) return static_cast<double>(shape->back());
  }
  return 1;
}

bool scales_or_shifts(const TraceNode& node) {
  if (node.op.find("batch_norm") != std::string::npos) return true;
  for (const char* op : {"aten::add", "aten::sub", "aten::mul", "aten::div"}) {
    if (node.op == op) return true;
  }
  return false;
}

/// The first few elements show it for most tensors.
bool are_whole(const at::Tensor& t) {
  const auto whole = [](const at::Tensor& x) { return (x == x.round()).all().item<bool>(); };
  constexpr int64_t kFew = 256;
  const at::Tensor flat = t.reshape({-1});
  return whole(flat.slice(0, 0, kFew)) && whole(flat);
}

}  // namespace

RoundingModel::RoundingModel(const Trace& trace, int places, uint64_t seed, bool mirrored)
    : trace_(trace),
      terms_(trace.values.size(), 0),
      places_(places),
      seed_(seed),
      mirrored_(mirrored) {
  for (const TraceNode& node : trace.nodes) {
    if (node.outputs.empty() || node.outputs[0] == kNoTraceValue) continue;
    const double terms = adds_products(node) ? terms_of(trace, node) : scaled_terms(node);
    terms_[static_cast<size_t>(node.outputs[0])] = terms;
  }
}

bool RoundingModel::is_computed(TraceValueId id) const {
  return trace_.values[static_cast<size_t>(id)].leaf == LeafKind::kNotLeaf;
}

double RoundingModel::scaled_terms(const TraceNode& node) const {
  if (!scales_or_shifts(node)) return 0;
  double terms = 0;
  int computed = 0;
  for (const auto& [name, arg] : node.args) {
    const auto* tensor = std::get_if<TensorArg>(&arg);
    if (!tensor || tensor->value == kNoTraceValue || !is_computed(tensor->value)) continue;
    ++computed;
    terms = terms_[static_cast<size_t>(tensor->value)];
  }
  return computed == 1 ? terms : 0;
}

at::Tensor RoundingModel::moved(TraceValueId id, const at::Tensor& t, double places) const {
  const auto seed = seed_ + static_cast<uint64_t>(id);
  const at::Tensor x = t.contiguous();
  return are_whole(x) ? t : nudged(x, places_ * static_cast<int>(places), seed, mirrored_);
}

at::Tensor RoundingModel::operand(const TraceNode& node, TraceValueId id,
                                  const at::Tensor& t) const {
  if (chooses_freely(node)) return loosened(t, seed_ + 1, mirrored_);
  if (!is_computed(id) || !adds_products(node)) return t;
  const double terms = terms_[static_cast<size_t>(node.outputs[0])];
  return moved(id, t, 1 + std::sqrt(terms) / 8);
}

at::Tensor RoundingModel::result(TraceValueId id, const at::Tensor& t) const {
  const double terms = terms_[static_cast<size_t>(id)];
  return terms == 0 ? t : moved(id, t, 1 + std::sqrt(terms) / 5);
}

}  // namespace lazyrt
