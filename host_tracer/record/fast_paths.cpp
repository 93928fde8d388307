#include "host_tracer/record/fast_paths.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/lazy_backend.h"

namespace lazyrt {
namespace {

using Args = std::vector<c10::IValue>;
using Results = std::vector<c10::IValue>;

/// mask_type of these operators, beside the one that hides pairs of places, [N, heads, L, L].
constexpr int64_t kHidesPlaces = 1;  // [N, L]

struct Projections {
  int64_t width, heads;
  at::Tensor in_weight, in_bias;    ///< [3 * width, width], [3 * width]: q, k, v
  at::Tensor out_weight, out_bias;  ///< [width, width], [width]
};

struct Mask {
  at::Tensor hidden;  ///< bool, broadcasts to [N, heads, L, L]; undefined: all is seen
  at::Tensor blind;   ///< bool, broadcasts to [N, L, width]: what some head sees nothing for
};

Mask read_mask(const c10::IValue& given, const c10::IValue& type) {
  if (!given.isTensor() || !given.toTensor().defined()) return {};
  at::Tensor mask = given.toTensor();
  if (mask.scalar_type() != at::kBool) mask = mask.ne(0);
  if (type.isInt() && type.toInt() == kHidesPlaces) {
    return {mask.unsqueeze(1).unsqueeze(1), mask.all(1).unsqueeze(-1).unsqueeze(-1)};
  }
  return {mask, mask.all(3).any(1).unsqueeze(-1)};
}

/// Whether some element may be true in some run.
bool may_hold(const at::Tensor& truths) {
  if (!is_lazy(truths)) return truths.any().item<bool>();
  return is_dynamic(truths) || sample_of(truths).any().item<bool>();
}

struct Attention {
  at::Tensor result;   ///< [N, L, width]
  at::Tensor weights;  ///< [N, heads, L, L]; undefined where they are not wanted
};

/// Of x [N, L, width] to itself.
Attention attend(const at::Tensor& x, const Projections& p, const Mask& mask, bool with_weights) {
  const auto split = [&](const at::Tensor& part) {
    return part.unflatten(-1, {p.heads, p.width / p.heads}).transpose(1, 2);
  };
  const std::vector<at::Tensor> parts = at::linear(x, p.in_weight, p.in_bias).chunk(3, -1);
  const at::Tensor q = split(parts[0]), k = split(parts[1]), v = split(parts[2]);
  Attention made;
  at::Tensor heads;
  if (with_weights) {
    const double scale = 1 / std::sqrt(static_cast<double>(p.width / p.heads));
    at::Tensor scores = at::matmul(q * scale, k.transpose(-2, -1));
    if (mask.hidden.defined()) {
      scores = scores.masked_fill(mask.hidden, -std::numeric_limits<double>::infinity());
    }
    made.weights = scores.softmax(-1);
    heads = at::matmul(made.weights, v);
  } else {
    std::optional<at::Tensor> seen;
    if (mask.hidden.defined()) seen = mask.hidden.logical_not();
    heads = at::scaled_dot_product_attention(q, k, v, seen);
  }
  made.result = at::linear(heads.transpose(1, 2).flatten(2), p.out_weight, p.out_bias);
  if (mask.blind.defined() && may_hold(mask.blind)) {
    made.result = made.result.masked_fill(mask.blind, std::numeric_limits<double>::quiet_NaN());
  }
  return made;
}

at::Tensor are_left_aligned(const at::Tensor& holds) {
  const int64_t length = holds.size(1);
  if (length == 0) return at::ones({}, holds.options());
  return holds.narrow(1, 1, length - 1).le(holds.narrow(1, 0, length - 1)).all();
}

at::Tensor without_padding(const NestedStandIn& nested, double padding) {
  const at::Tensor padded = nested.holds.logical_not().logical_and(nested.aligned);
  return nested.tensor.masked_fill(padded.unsqueeze(-1), padding);
}

at::Tensor note_nested(NestedStandIns& nested, const NestedStandIn& made) {
  nested[made.tensor.unsafeGetTensorImpl()] = made;
  return made.tensor;
}

/// _nested_tensor_from_mask_left_aligned(t, mask). The result depends on values, so both cases are
/// computed.
Results left_aligned(NestedStandIns&, const Args&) { return {true}; }

/// _nested_tensor_from_mask(t, mask, mask_check)
Results make_nested(NestedStandIns& nested, const Args& args) {
  TORCH_CHECK(
      !args[2].toBool(),
      "the program makes a nested tensor of a mask, and a bundle has none: keep the padding");
  const at::Tensor holds = args[1].toTensor();
  NestedStandIn made{args[0].toTensor(), holds, are_left_aligned(holds)};
  made.tensor = without_padding(made, 0);
  return {note_nested(nested, made)};
}

/// to_padded_tensor(self, padding, output_size)
Results pad(NestedStandIns& nested, const Args& args) {
  const auto found = nested.find(args[0].toTensor().unsafeGetTensorImpl());
  TORCH_CHECK(found != nested.end(),
              "the program makes a nested tensor, and a bundle has none: give "
              "nn.TransformerEncoder enable_nested_tensor=False");
  return {without_padding(found->second, args[1].toDouble())};
}

/// _transformer_encoder_layer_fwd
Results encoder_layer(NestedStandIns& nested, const Args& args) {
  const auto tensor = [&](size_t i) { return args[i].toTensor(); };
  const at::Tensor src = tensor(0);
  const Projections projections{args[1].toInt(), args[2].toInt(), tensor(3),
                                tensor(4),       tensor(5),       tensor(6)};
  const bool gelu = args[7].toBool(), norm_first = args[8].toBool();
  const auto norm = [&](const at::Tensor& x, size_t weight) {
    return at::layer_norm(x, {projections.width}, tensor(weight), tensor(weight + 1),
                          args[9].toDouble());
  };
  const auto feed = [&](const at::Tensor& x) {
    const at::Tensor inner = at::linear(x, tensor(14), tensor(15));
    return at::linear(gelu ? at::gelu(inner) : at::relu(inner), tensor(16), tensor(17));
  };
  const auto found = nested.find(src.unsafeGetTensorImpl());
  const bool is_nested = found != nested.end();
  const Mask mask = is_nested ? read_mask(found->second.holds.logical_not(), kHidesPlaces)
                              : read_mask(args[18], args[19]);
  const auto attention = [&](const at::Tensor& x) {
    return attend(x, projections, mask, false).result;
  };
  at::Tensor x;
  if (norm_first) {
    x = src + attention(norm(src, 10));
    x = x + feed(norm(x, 12));
  } else {
    x = norm(src + attention(src), 10);
    x = norm(x + feed(x), 12);
  }
  if (is_nested) note_nested(nested, {x, found->second.holds, found->second.aligned});
  return {x};
}

/// _native_multi_head_attention, which the modules call for attention of a tensor to itself
Results self_attention(NestedStandIns&, const Args& args) {
  const auto tensor = [&](size_t i) { return args[i].toTensor(); };
  const Projections projections{args[3].toInt(), args[4].toInt(), tensor(5),
                                tensor(6),       tensor(7),       tensor(8)};
  const bool wanted = args[10].toBool(), average = args[11].toBool();
  const Attention made =
      attend(tensor(0), projections, read_mask(args[9], args[12]), /*with_weights=*/wanted);
  return {made.result, wanted && average ? made.weights.mean(1) : made.weights};
}

}  // namespace

const std::map<std::string, FastPath>& fast_paths() {
  static const std::map<std::string, FastPath> paths = {
      {"_nested_tensor_from_mask_left_aligned", left_aligned},
      {"_nested_tensor_from_mask", make_nested},
      {"to_padded_tensor", pad},
      {"_transformer_encoder_layer_fwd", encoder_layer},
      {"_native_multi_head_attention", self_attention},
  };
  return paths;
}

}  // namespace lazyrt
