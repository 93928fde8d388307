// scaled_dot_product_attention and the kernels that ATen picks for it.

#include <algorithm>
#include <cmath>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;

/// Repeats key or value heads to the number of query heads: [..., h, S, E] -> [..., h * n, S, E].
ValueId repeat_heads(RuleContext& c, ValueId x, int64_t heads) {
  const int rank = c.rank(x);
  const int64_t own = c.dim(x, -3);
  if (own == heads) return x;
  if (own == 0 || heads % own != 0) {
    return c.fail(Error::kInvalidArgument,
                  "the number of query heads is not a multiple of the number of key heads");
  }
  Shape grouped = c.shape(c.unsqueeze(x, rank - 2));
  const ValueId split = c.reshape(x, grouped);
  grouped[rank - 2] = heads / own;
  Shape merged = c.shape(x);
  merged[rank - 3] = heads;
  return c.reshape(c.expand(split, grouped), merged);
}

/// [L,S]: true where a query may look, at keys up to its own position.
ValueId causal_mask(RuleContext& c, int64_t queries, int64_t keys) {
  std::vector<Scalar> mask;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < keys; ++k) mask.emplace_back(k <= q);
  }
  return c.constant(DType::kBool, {queries, keys}, mask);
}

/// Adds a mask; a bool mask is added as 0 and -inf, so that a NaN score stays NaN.
ValueId mask_scores(RuleContext& c, ValueId scores, ValueId mask) {
  const DType t = c.dtype(scores);
  if (c.dtype(mask) == DType::kBool) {
    mask = c.where(mask, c.scalar(t, 0.0), c.scalar(t, -kInfinity));
  }
  return c.binary(BinaryFn::Add, scores, c.cast(mask, t));
}

/// Whether the call goes to ATen's flash kernel, which replaces the scores of later keys.
bool is_flash(RuleContext& c, ValueId query, ValueId key, ValueId value) {
  if (c.node().op == "aten::_scaled_dot_product_attention_math") return false;
  const Shape q = c.shape(query), k = c.shape(key), v = c.shape(value);
  const bool plain = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  return plain && q.back(0) == k.back(0) && q.back(0) == v.back(0);
}

/// How many keys ATen's flash kernel reads for this many queries: those that the last block of
/// queries may look at (flash_attention in ATen's FlashAttentionKernel.cpp).
int64_t keys_in_sight(int64_t queries, int64_t keys) {
  const int64_t block = queries >= 768 ? 256 : queries >= 192 ? 64 : 32;
  return std::min(keys, (queries + block - 1) / block * block);
}

void attention(RuleContext& c) {
  if (c.number_or("dropout_p", 0.0).as_double() != 0.0) {
    c.refuse("with dropout_p above 0 draws random numbers; call model.eval() before the export");
    return;
  }
  ValueId query = c.tensor("query");
  ValueId key = c.tensor("key");
  ValueId value = c.tensor("value");
  if (c.boolean_or("enable_gqa", false)) {
    const int64_t heads = c.dim(query, -3);
    key = repeat_heads(c, key, heads);
    value = repeat_heads(c, value, heads);
  }
  const bool causal = c.boolean_or("is_causal", false);
  const bool flash = causal && is_flash(c, query, key, value);
  if (flash && !c.any_size()) {
    const int64_t seen = keys_in_sight(c.dim(query, -2), c.dim(key, -2));
    if (seen < c.dim(key, -2)) {
      key = c.slice(key, c.rank(key) - 2, 0, seen);
      value = c.slice(value, c.rank(value) - 2, 0, seen);
    }
  }
  const double width = static_cast<double>(c.dim(query, -1));
  const double scale = c.number_or("scale", 1 / std::sqrt(width)).as_double();
  ValueId scores = c.matmul(c.binary_number(BinaryFn::Mul, query, scale), key, true);
  if (causal) {
    const ValueId visible = causal_mask(c, c.dim(query, -2), c.dim(key, -2));
    const DType t = c.dtype(scores);
    scores =
        flash ? c.where(visible, scores, c.scalar(t, -kInfinity)) : mask_scores(c, scores, visible);
  }
  const ValueId mask = c.optional_tensor("attn_mask");
  if (mask != kNoValue) scores = mask_scores(c, scores, mask);
  fb::SoftmaxT softmax;
  softmax.axis = c.rank(scores) - 1;
  softmax.safe = true;
  c.set(c.matmul(c.add(softmax, {scores}), value));
}

constexpr const char* kFused =
    "is not supported: turn the fast path off with torch.backends.mha.set_fastpath_enabled(False)";

constexpr RuleEntry kAttentionEntries[] = {
    {"scaled_dot_product_attention", attention},
    {"_scaled_dot_product_attention_math", attention},
    {"_scaled_dot_product_flash_attention_for_cpu", attention},
    {"_scaled_dot_product_flash_attention", attention},
    {"_native_multi_head_attention", nullptr, kFused},
    {"_transformer_encoder_layer_fwd", nullptr, kFused},
};

}  // namespace

const RuleList attention_rules{kAttentionEntries};

}  // namespace lazyrt
