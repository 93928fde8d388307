// Shape rules meet hostile nodes: a table of bad ones that must be refused by name, and thousands
// of random mutations of good ones, after which what the rule still accepts must run inside its
// memory.

#include <gtest/gtest.h>

#include <cmath>

#include "lazyrt/runtime.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/conformance/extremes.h"

namespace lazyrt {
namespace {

struct BadNode {
  const char* name;
  fb::OpAttrsUnion attrs;
  std::vector<TensorSpec> inputs;
  const char* says;  ///< part of the message
};

TensorSpec f32(std::initializer_list<int64_t> dims) {
  return {DType::kFloat32, Shape(dims), nullptr};
}
TensorSpec of(DType dtype, std::initializer_list<int64_t> dims) {
  return {dtype, Shape(dims), nullptr};
}

template <class Table, class Set>
fb::OpAttrsUnion with(Set set) {
  Table t;
  set(t);
  return case_attrs(t);
}

std::vector<BadNode> bad_conv() {
  const TensorSpec x = f32({1, 8, 8, 4}), w = f32({6, 3, 3, 4});
  using T = fb::Conv2dT;
  using U = fb::ConvTranspose2dT;
  return {
      {"conv_stride_0", with<T>([](T& t) { t.stride_h = 0; }), {x, w}, "stride 0"},
      {"conv_stride_min",
       with<T>([](T& t) { t.stride_w = INT32_MIN; }),
       {x, w},
       "stride -2147483648"},
      {"conv_pad_negative", with<T>([](T& t) { t.pad_left = -1; }), {x, w}, "padding -1"},
      {"conv_dilation_max",
       with<T>([](T& t) { t.dilation_h = INT32_MAX; }),
       {x, w},
       "larger than the padded height"},
      {"conv_groups_0", with<T>([](T& t) { t.groups = 0; }), {x, w}, "groups is 0"},
      {"conv_groups_3", with<T>([](T& t) { t.groups = 3; }), {x, w}, "groups 3"},
      {"conv_groups_min",
       with<T>([](T& t) { t.groups = INT32_MIN; }),
       {x, w},
       "groups is -2147483648"},
      {"conv_clamp", with<T>([](T& t) { t.min = 2, t.max = 1; }), {x, w}, "clamp [2, 1]"},
      {"conv_clamp_nan", with<T>([](T& t) { t.min = std::nanf(""); }), {x, w}, "clamp"},
      {"conv_rank", case_attrs(T{}), {f32({8, 8, 4}), w}, "x has shape [8,8,4]"},
      {"conv_weight", case_attrs(T{}), {x, f32({6, 3, 3, 5})}, "weight [6,3,3,5]"},
      {"conv_bias", case_attrs(T{}), {x, w, f32({5})}, "bias is f32[5]"},
      {"conv_bias_type", case_attrs(T{}), {x, w, of(DType::kFloat64, {6})}, "bias is f64[6]"},
      {"conv_int", case_attrs(T{}), {of(DType::kInt32, {1, 8, 8, 4}), w}, "type i32"},
      {"conv_kernel", case_attrs(T{}), {f32({1, 2, 2, 4}), w}, "kernel of 3"},
      {"conv_no_weight", case_attrs(T{}), {x}, "1 operands"},
      {"conv_absent_weight", case_attrs(T{}), {x, TensorSpec{}}, "operand 1 is missing"},
      {"conv_many", case_attrs(T{}), {x, w, f32({6}), x}, "4 operands"},
      {"conv_huge_output",
       with<T>([](T& t) { t.pad_top = t.pad_bottom = t.pad_left = t.pad_right = INT32_MAX; }),
       {x, w},
       "not a possible tensor"},
      {"deconv_output_pad", with<U>([](U& t) { t.output_pad_h = 1; }), {x, w}, "output_pad is 1"},
      {"deconv_small",
       with<U>([](U& t) { t.pad_top = t.pad_bottom = 9; }),
       {x, w},
       "height would be"},
      {"deconv_empty", case_attrs(U{}), {f32({1, 0, 8, 4}), w}, "height is 0"},
      {"deconv_overflow",
       with<U>([](U& t) { t.stride_h = t.stride_w = t.dilation_h = INT32_MAX; }),
       {f32({1, 1 << 20, 1 << 20, 4}), w},
       "not a possible tensor"},
  };
}

std::vector<BadNode> bad_pool() {
  using M = fb::MaxPool2dT;
  using A = fb::AvgPool2dT;
  using D = fb::AdaptiveAvgPool2dT;
  const TensorSpec x = f32({1, 8, 8, 4});
  return {
      {"pool_kernel_0", with<M>([](M& t) { t.kernel_h = 0; }), {x}, "kernel 0"},
      {"pool_kernel_max",
       with<M>([](M& t) { t.kernel_w = INT32_MAX; }),
       {x},
       "larger than the padded width"},
      {"pool_pad", with<M>([](M& t) { t.pad_top = 1; }), {x}, "padding before is 1"},
      {"pool_stride", with<A>([](A& t) { t.stride_h = -1; }), {x}, "stride -1"},
      {"pool_divisor",
       with<A>([](A& t) { t.divisor_override = -2; }),
       {x},
       "divisor_override is -2"},
      {"pool_empty",
       with<M>([](M& t) { t.kernel_h = 2; }),
       {f32({1, 0, 8, 4})},
       "larger than the padded height"},
      {"adaptive_negative", with<D>([](D& t) { t.out_h = -1; }), {x}, "out_h is -1"},
      {"adaptive_empty", case_attrs(D{}), {f32({1, 0, 8, 4})}, "height is 0"},
      {"adaptive_rank", case_attrs(D{}), {f32({8, 8})}, "x has shape [8,8]"},
  };
}

std::vector<BadNode> bad_elementwise() {
  using U = fb::UnaryT;
  using B = fb::BinaryT;
  using C = fb::CastT;
  const TensorSpec x = f32({2, 3});
  return {
      {"unary_fn", with<U>([](U& t) { t.fn = static_cast<fb::UnaryFn>(200); }), {x}, "fn is 200"},
      {"unary_type",
       with<U>([](U& t) { t.fn = fb::UnaryFn::Exp; }),
       {of(DType::kInt64, {2})},
       "Exp: x of type i64"},
      {"unary_bitwise", with<U>([](U& t) { t.fn = fb::UnaryFn::BitwiseNot; }), {x}, "type f32"},
      {"unary_half", case_attrs(U{}), {of(DType::kFloat16, {2})}, "type f16"},
      {"unary_dtype", case_attrs(U{}), {of(static_cast<DType>(77), {2})}, "not a possible tensor"},
      {"unary_none", case_attrs(U{}), {}, "0 operands"},
      {"unary_negative_dim", case_attrs(U{}), {f32({2, -3})}, "not a possible tensor"},
      {"unary_overflow", case_attrs(U{}), {f32({1LL << 40, 1LL << 40})}, "not a possible tensor"},
      {"unary_hidden_overflow",
       case_attrs(U{}),
       {f32({0, 1LL << 40, 1LL << 40})},
       "not a possible tensor"},
      {"binary_fn",
       with<B>([](B& t) { t.fn = static_cast<fb::BinaryFn>(99); }),
       {x, x},
       "fn is 99"},
      {"binary_shapes", case_attrs(B{}), {x, f32({2, 4})}, "[2,3] and [2,4] do not broadcast"},
      {"binary_types", case_attrs(B{}), {x, of(DType::kInt32, {3})}, "b of type i32"},
      {"binary_div_int",
       with<B>([](B& t) { t.fn = fb::BinaryFn::Div; }),
       {of(DType::kInt32, {3}), of(DType::kInt32, {3})},
       "Div: a of type i32"},
      {"binary_sub_bool",
       with<B>([](B& t) { t.fn = fb::BinaryFn::Sub; }),
       {of(DType::kBool, {3}), of(DType::kBool, {3})},
       "Sub: a of type bool"},
      {"binary_blow_up",
       case_attrs(B{}),
       {f32({1LL << 40, 1}), f32({1, 1LL << 40})},
       "not a possible tensor"},
      {"where_condition", case_attrs(fb::WhereT{}), {x, x, x}, "condition of type f32"},
      {"where_types",
       case_attrs(fb::WhereT{}),
       {of(DType::kBool, {3}), x, of(DType::kInt64, {3})},
       "b of type i64"},
      {"where_shapes", case_attrs(fb::WhereT{}), {of(DType::kBool, {4}), x, x}, "do not broadcast"},
      {"cast_none", with<C>([](C& t) { t.to = fb::DType::None; }), {x}, "to is 0"},
      {"cast_unknown", with<C>([](C& t) { t.to = static_cast<fb::DType>(250); }), {x}, "to is 250"},
  };
}

std::vector<BadNode> bad_matrix() {
  using L = fb::LinearT;
  const TensorSpec x = f32({2, 3});
  return {
      {"linear_depth", case_attrs(L{}), {x, f32({4, 5})}, "weight is f32[4,5], must be f32[4,3]"},
      {"linear_scalar", case_attrs(L{}), {f32({}), f32({4, 5})}, "at least 1 dims"},
      {"linear_bias", case_attrs(L{}), {x, f32({4, 3}), f32({3})}, "bias"},
      {"linear_clamp", with<L>([](L& t) { t.max = -1, t.min = 0; }), {x, f32({4, 3})}, "clamp"},
      {"matmul_depth",
       case_attrs(fb::MatMulT{}),
       {x, f32({2, 3})},
       "matmul: a [2,3] does not fit b [2,3]"},
      {"matmul_batch", case_attrs(fb::MatMulT{}), {f32({2, 2, 3}), f32({3, 3, 4})}, "does not fit"},
      {"matmul_vector", case_attrs(fb::MatMulT{}), {f32({3}), f32({3, 4})}, "a has shape [3]"},
      {"matmul_blow_up",
       case_attrs(fb::MatMulT{}),
       {f32({1LL << 40, 0}), f32({0, 1LL << 40})},
       "not a possible"},
  };
}

std::vector<BadNode> bad_axes() {
  using R = fb::ReduceT;
  using S = fb::SoftmaxT;
  using A = fb::ArgReduceT;
  using N = fb::LayerNormT;
  using G = fb::GroupNormT;
  using B = fb::BatchNormT;
  const TensorSpec x = f32({2, 3}), c = f32({3});
  return {
      {"reduce_no_axes", case_attrs(R{}), {x}, "number of axes is 0"},
      {"reduce_axis", with<R>([](R& t) { t.axes = {2}; }), {x}, "axis 2"},
      {"reduce_negative", with<R>([](R& t) { t.axes = {INT32_MIN}; }), {x}, "axis -2147483648"},
      {"reduce_twice",
       with<R>([](R& t) {
         t.axes = {1, 1};
       }),
       {x},
       "given twice"},
      {"reduce_max_nothing",
       with<R>([](R& t) { t.fn = fb::ReduceFn::Max, t.axes = {0}; }),
       {f32({0, 3})},
       "Max over no elements"},
      {"reduce_mean_int",
       with<R>([](R& t) { t.fn = fb::ReduceFn::Mean, t.axes = {0}; }),
       {of(DType::kInt64, {2})},
       "Mean: x of type i64"},
      {"reduce_fn",
       with<R>([](R& t) { t.fn = static_cast<fb::ReduceFn>(7), t.axes = {0}; }),
       {x},
       "fn is 7"},
      {"softmax_axis", with<S>([](S& t) { t.axis = -1; }), {x}, "axis -1"},
      {"softmax_scalar", case_attrs(S{}), {f32({})}, "axis 0 is not in [0, 0)"},
      {"softmax_log_safe", with<S>([](S& t) { t.log = t.safe = true; }), {x}, "safe"},
      {"arg_reduce_empty", with<A>([](A& t) { t.axis = 0; }), {f32({0, 3})}, "has no elements"},
      {"layer_norm_rank",
       with<N>([](N& t) { t.normalized_rank = 3; }),
       {x},
       "normalized_rank is 3"},
      {"layer_norm_zero",
       with<N>([](N& t) { t.normalized_rank = 0; }),
       {x},
       "normalized_rank is 0"},
      {"layer_norm_epsilon", with<N>([](N& t) { t.epsilon = -1; }), {x}, "epsilon is -1"},
      {"layer_norm_weight", case_attrs(N{}), {x, f32({2})}, "weight is f32[2]"},
      {"group_norm_groups", with<G>([](G& t) { t.groups = 2; }), {x}, "groups 2"},
      {"group_norm_negative",
       with<G>([](G& t) { t.groups = INT32_MIN; }),
       {x},
       "groups -2147483648"},
      {"group_norm_axis", with<G>([](G& t) { t.channel_axis = 0; }), {x}, "channel_axis is 0"},
      {"batch_norm_mean", case_attrs(B{}), {x, c, c, TensorSpec{}, c}, "operand 3 is missing"},
      {"batch_norm_shape", case_attrs(B{}), {x, c, c, c, f32({2})}, "variance"},
      {"batch_norm_axis",
       with<B>([](B& t) { t.channel_axis = 2; }),
       {x, c, c, c, c},
       "channel_axis is 2"},
      {"cum_sum_axis", with<fb::CumSumT>([](fb::CumSumT& t) { t.axis = 2; }), {x}, "axis 2"},
      {"scan_axis", with<fb::ScanT>([](fb::ScanT& t) { t.axis = -1; }), {x}, "axis -1"},
      {"scan_fn",
       with<fb::ScanT>([](fb::ScanT& t) { t.fn = static_cast<fb::ScanFn>(4); }),
       {x},
       "fn is 4"},
      {"scan_dtype",
       with<fb::ScanT>([](fb::ScanT& t) { t.fn = fb::ScanFn::LogSumExp; }),
       {of(DType::kInt64, {3})},
       "i64"},
      {"flip_axis",
       with<fb::FlipT>([](fb::FlipT& t) {
         t.axes = {0, 0};
       }),
       {x},
       "given twice"},
      {"top_k_k", with<fb::TopKT>([](fb::TopKT& t) { t.k = 3; }), {x}, "k is 3"},
      {"top_k_negative",
       with<fb::TopKT>([](fb::TopKT& t) { t.k = INT64_MIN; }),
       {x},
       "k is -9223372036854775808"},
      {"triangle_rank", case_attrs(fb::TriangleT{}), {f32({3})}, "at least 2 dims"},
  };
}

std::vector<BadNode> bad_movement() {
  using R = fb::ReshapeT;
  using P = fb::PermuteT;
  using E = fb::ExpandT;
  using S = fb::SliceT;
  using C = fb::ConcatT;
  using Q = fb::PadT;
  const TensorSpec x = f32({2, 3});
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  return {
      {"reshape_count",
       with<R>([](R& t) { t.shape = {5}; }),
       {x},
       "[5] does not have as many elements"},
      {"reshape_negative", with<R>([](R& t) { t.shape = {-1}; }), {x}, "not a possible tensor"},
      {"reshape_rank",
       with<R>([](R& t) { t.shape = {1, 1, 1, 1, 1, 1, 1, 2, 3}; }),
       {x},
       "rank of shape is 9"},
      {"permute_length", with<P>([](P& t) { t.perm = {0}; }), {x}, "perm has 1 numbers"},
      {"permute_twice",
       with<P>([](P& t) {
         t.perm = {1, 1};
       }),
       {x},
       "given twice"},
      {"permute_range",
       with<P>([](P& t) {
         t.perm = {0, 33};
       }),
       {x},
       "axis 33"},
      {"expand_shape",
       with<E>([](E& t) {
         t.shape = {2, 4};
       }),
       {x},
       "does not broadcast to shape [2,4]"},
      {"expand_shrink",
       with<E>([](E& t) {
         t.shape = {1, 3};
       }),
       {x},
       "does not broadcast"},
      {"expand_huge",
       with<E>([](E& t) {
         t.shape = {1LL << 62, 2, 3};
       }),
       {x},
       "not a possible tensor"},
      {"expand_negative",
       with<E>([](E& t) {
         t.shape = {-1, 2, 3};
       }),
       {x},
       "not a possible tensor"},
      {"slice_start",
       with<S>([](S& t) {
         t.starts = {3, 0}, t.sizes = {0, 1}, t.steps = {1, 1};
       }),
       {x},
       "start 3"},
      {"slice_size",
       with<S>([](S& t) {
         t.starts = {1, 0}, t.sizes = {2, 1}, t.steps = {1, 1};
       }),
       {x},
       "size 2"},
      {"slice_step_0",
       with<S>([](S& t) {
         t.starts = {0, 0}, t.sizes = {1, 1}, t.steps = {0, 1};
       }),
       {x},
       "step 0"},
      {"slice_hostile",
       with<S>([](S& t) {
         t.starts = {kMin, 0}, t.sizes = {kMax, 1}, t.steps = {kMax, 1};
       }),
       {x},
       "do not fit its extent"},
      {"slice_overflow",
       with<S>([](S& t) {
         t.starts = {0, 0}, t.sizes = {3, 1}, t.steps = {kMax, 1};
       }),
       {x},
       "do not fit its extent"},
      {"slice_length",
       with<S>([](S& t) {
         t.starts = {0, 0}, t.sizes = {1, 1}, t.steps = {1};
       }),
       {x},
       "steps has 1"},
      {"concat_axis", with<C>([](C& t) { t.axis = 2; }), {x, x}, "axis 2"},
      {"concat_shape", case_attrs(C{}), {x, f32({2, 4})}, "must be f32[2,3]"},
      {"concat_type", case_attrs(C{}), {x, of(DType::kInt32, {2, 3})}, "is i32[2,3]"},
      {"concat_none", case_attrs(C{}), {}, "0 operands"},
      {"pad_length",
       with<Q>([](Q& t) {
         t.before = {1}, t.after = {0, 0};
       }),
       {x},
       "before has 1"},
      {"pad_crop",
       with<Q>([](Q& t) {
         t.before = {-3, 0}, t.after = {0, 0};
       }),
       {x},
       "before is -3"},
      {"pad_crop_both",
       with<Q>([](Q& t) {
         t.before = {-2, 0}, t.after = {-2, 0};
       }),
       {x},
       "not a possible tensor"},
      {"pad_huge",
       with<Q>([](Q& t) {
         t.before = {kMax, 0}, t.after = {kMax, 0};
       }),
       {x},
       "before is"},
      {"pad_reflect",
       with<Q>([](Q& t) {
         t.mode = fb::PadMode::Reflect, t.before = {2, 0}, t.after = {0, 0};
       }),
       {x},
       "before is 2"},
      {"pad_reflect_crop",
       with<Q>([](Q& t) {
         t.mode = fb::PadMode::Circular, t.before = {-1, 0}, t.after = {0, 0};
       }),
       {x},
       "before is -1"},
      {"pad_replicate_empty",
       with<Q>([](Q& t) {
         t.mode = fb::PadMode::Replicate, t.before = {1, 0}, t.after = {0, 0};
       }),
       {f32({0, 3})},
       "before is 1"},
      {"pad_mode",
       with<Q>([](Q& t) {
         t.mode = static_cast<fb::PadMode>(4), t.before = {0, 0}, t.after = {0, 0};
       }),
       {x},
       "mode is 4"},
  };
}

std::vector<BadNode> bad_index() {
  using I = fb::IndexSelectT;
  using G = fb::GatherT;
  using S = fb::ScatterT;
  using V = fb::Upsample2dT;
  const TensorSpec x = f32({2, 3}), image = f32({1, 4, 4, 2});
  const TensorSpec ids = of(DType::kInt64, {2, 3});
  return {
      {"index_select_axis", with<I>([](I& t) { t.axis = 2; }), {x, ids}, "axis 2"},
      {"index_select_type", case_attrs(I{}), {x, x}, "ids of type f32"},
      {"index_select_rank",
       case_attrs(I{}),
       {f32({1, 1, 1, 1, 1}), of(DType::kInt32, {1, 1, 1, 1, 1})},
       "is 9"},
      {"gather_rank", case_attrs(G{}), {x, of(DType::kInt64, {2})}, "index has shape [2]"},
      {"gather_larger",
       case_attrs(G{}),
       {x, of(DType::kInt64, {2, 4})},
       "larger than x [2,3] in dim 1"},
      {"gather_scalar", case_attrs(G{}), {f32({}), of(DType::kInt64, {})}, "axis 0"},
      {"scatter_src", case_attrs(S{}), {x, ids, f32({1, 3})}, "in dim 0"},
      {"scatter_larger", case_attrs(S{}), {x, of(DType::kInt64, {2, 4}), f32({2, 4})}, "in dim 1"},
      {"scatter_type", case_attrs(S{}), {x, ids, of(DType::kInt32, {2, 3})}, "src of type i32"},
      {"scatter_fn",
       with<S>([](S& t) { t.fn = static_cast<fb::ScatterFn>(5); }),
       {x, ids, x},
       "fn is 5"},
      {"upsample_size", with<V>([](V& t) { t.out_h = 0, t.out_w = 1; }), {image}, "out_h is 0"},
      {"upsample_scale",
       with<V>([](V& t) { t.out_h = t.out_w = 2, t.scale_w = -1; }),
       {image},
       "scale of out_w is -1"},
      {"upsample_nan",
       with<V>([](V& t) { t.out_h = t.out_w = 2, t.scale_h = std::nan(""); }),
       {image},
       "scale of out_h"},
      {"upsample_tiny",
       with<V>([](V& t) { t.out_h = t.out_w = 2, t.scale_h = 1e-40; }),
       {image},
       "scale of out_h is 1e-40"},
      {"upsample_empty",
       with<V>([](V& t) { t.out_h = t.out_w = 2; }),
       {f32({1, 0, 4, 2})},
       "extent of x is 0"},
  };
}

std::vector<BadNode> bad_rnn() {
  using G = fb::GruT;
  using L = fb::LstmT;
  const TensorSpec x = f32({5, 2, 3}), h = f32({1, 2, 4});
  const std::vector<TensorSpec> good = {x, h, f32({12, 3}), f32({12, 4}), f32({12}), f32({12})};
  const auto changed = [&](size_t i, TensorSpec spec) {
    std::vector<TensorSpec> out = good;
    out[i] = spec;
    return out;
  };
  return {
      {"gru_layers_0", with<G>([](G& t) { t.layers = 0; }), good, "layers is 0"},
      {"gru_layers_max", with<G>([](G& t) { t.layers = INT32_MAX; }), good, "layers is 2147483647"},
      {"gru_layers_2", with<G>([](G& t) { t.layers = 2; }), good,
       "number of operands is 6, must be in [10, 10]"},
      {"gru_no_bias", with<G>([](G& t) { t.has_bias = false; }), good, "number of operands"},
      {"gru_state", case_attrs(G{}), changed(1, f32({1, 3, 4})), "h0 is f32[1,3,4]"},
      {"gru_weight", case_attrs(G{}), changed(2, f32({12, 4})), "w_ih"},
      {"gru_hidden_weight", case_attrs(G{}), changed(3, f32({16, 4})), "w_hh"},
      {"gru_bias", case_attrs(G{}), changed(5, f32({11})), "a bias"},
      {"gru_rank", case_attrs(G{}), changed(0, f32({5, 3})), "x has shape [5,3]"},
      {"lstm_missing_cell", case_attrs(L{}), good, "number of operands"},
  };
}

std::vector<BadNode> bad_sample() {
  using G = fb::GridSampleT;
  const TensorSpec image = f32({2, 4, 4, 3}), grid = f32({2, 5, 5, 2});
  return {
      {"sample_mode",
       with<G>([](G& t) { t.mode = static_cast<fb::SampleMode>(9); }),
       {image, grid},
       "mode is 9"},
      {"sample_padding",
       with<G>([](G& t) { t.padding = static_cast<fb::SamplePadding>(3); }),
       {image, grid},
       "padding is 3"},
      {"sample_rank", case_attrs(G{}), {f32({2, 4, 3}), f32({2, 5, 1})}, "x has 3 dims"},
      {"sample_cubic_volume",
       with<G>([](G& t) { t.mode = fb::SampleMode::Bicubic; }),
       {f32({1, 2, 2, 2, 1}), f32({1, 2, 2, 2, 3})},
       "not Bicubic"},
      {"sample_grid_rank", case_attrs(G{}), {image, f32({2, 5, 2})}, "grid"},
      {"sample_batch", case_attrs(G{}), {image, f32({1, 5, 5, 2})}, "grid"},
      {"sample_coordinates", case_attrs(G{}), {image, f32({2, 5, 5, 3})}, "grid"},
      {"sample_no_pixels", case_attrs(G{}), {f32({2, 0, 4, 3}), grid}, "extent of x is 0"},
      {"sample_type", case_attrs(G{}), {of(DType::kInt64, {2, 4, 4, 3}), grid}, "type i64"},
  };
}

std::vector<BadNode> bad_linalg() {
  const auto solve = case_attrs(fb::TriangularSolveT{});
  const auto lu = case_attrs(fb::LuT{}), cholesky = case_attrs(fb::CholeskyT{});
  const TensorSpec square = f32({2, 3, 3});
  return {
      {"solve_square", solve, {f32({3, 4}), f32({3, 1})}, "a has shape [3,4]"},
      {"solve_rows", solve, {square, f32({2, 4, 1})}, "b"},
      {"solve_batch", solve, {square, f32({1, 3, 1})}, "b"},
      {"solve_vector", solve, {square, f32({2, 3})}, "b"},
      {"solve_type", solve, {square, of(DType::kFloat64, {2, 3, 1})}, "b"},
      {"lu_square", lu, {f32({3, 4})}, "a has shape [3,4]"},
      {"lu_rank", lu, {f32({3})}, "at least 2 dims"},
      {"cholesky_square", cholesky, {f32({1, 2})}, "a has shape [1,2]"},
      {"cholesky_type", cholesky, {of(DType::kInt32, {2, 2})}, "type i32"},
  };
}

std::vector<BadNode> bad_full() {
  fb::FullT nothing, deep, negative;
  nothing.dtype = fb::DType::None;
  deep.dtype = negative.dtype = fb::DType::Float32;
  deep.shape.assign(9, 1);
  negative.shape = {2, -1};
  return {
      {"full_dtype", case_attrs(nothing), {}, "unknown dtype 0"},
      {"full_rank", case_attrs(deep), {}, "rank of shape is 9"},
      {"full_extent", case_attrs(negative), {}, "-1"},
      {"full_operands", case_attrs(fb::FullT{}), {f32({2})}, "1 operands"},
  };
}

std::vector<BadNode> bad_nodes() {
  std::vector<BadNode> all;
  for (auto* list : {bad_conv, bad_pool, bad_elementwise, bad_matrix, bad_axes, bad_movement,
                     bad_index, bad_rnn, bad_sample, bad_linalg, bad_full}) {
    for (BadNode& node : list()) all.push_back(std::move(node));
  }
  return all;
}

TEST(ShapeRule, RefusesBadNodesByName) {
  for (const BadNode& bad : bad_nodes()) {
    SCOPED_TRACE(bad.name);
    const PackedAttrs attrs(bad.attrs);
    const OpEntry& op = *default_ops().find(attrs.view());
    std::vector<TensorSpec> outputs(static_cast<size_t>(op.def->outputs));
    const Status status = op.def->infer(attrs.view(), bad.inputs, outputs);
    EXPECT_EQ(status.error(), Error::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(bad.says), std::string::npos) << status.message();
  }
}

/// Every op has a bad node above.
TEST(ShapeRule, EveryOpMeetsBadNodes) {
  std::vector<bool> seen(static_cast<size_t>(fb::OpAttrs::MAX) + 1);
  for (const BadNode& bad : bad_nodes()) seen[static_cast<size_t>(bad.attrs.type)] = true;
  for (const OpCases& op : all_cases()) {
    const bool has = seen[static_cast<size_t>(op.op->kind)];
    EXPECT_TRUE(has || op.op->kind == fb::OpAttrs::RmsNorm)
        << op.op->name;  // shares layer_norm's rule
  }
}

/// Overwrites one scalar of the attributes, or one element of an attribute list.
void break_attribute(PackedAttrs* attrs, std::mt19937_64& random) {
  const std::vector<AttributeSlot> slots = attribute_slots(attrs);
  if (!slots.empty()) write_extreme(slots[random() % slots.size()], random() % kExtremes);
}

/// Changes the type, one extent, the rank or the number of operands.
void break_operands(OpCase* c, std::mt19937_64& random) {
  if (c->operands.empty()) c->operands.push_back(random_operand({2}));
  CaseOperand& operand = c->operands[random() % c->operands.size()];
  switch (random() % 6) {
    case 0:
      operand.dtype = static_cast<DType>(random() % 11);
      break;
    case 1:
      operand.shape.push_back(static_cast<int64_t>(random() % 4));
      break;
    case 2:
      if (!operand.shape.empty()) operand.shape.pop_back();
      break;
    case 3:
      c->operands.push_back(operand);
      break;
    case 4:
      c->operands.pop_back();
      break;
    default:
      if (!operand.shape.empty())
        operand.shape[random() % operand.shape.size()] = static_cast<int64_t>(random() % 6);
  }
  for (CaseOperand& o : c->operands) o.shape.resize(std::min(o.shape.size(), size_t{kMaxRank}));
}

bool is_small(const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& s : specs) {
    int64_t count = 0;
    if (!s.shape.checked_numel(&count) || count > 20000) return false;
  }
  return true;
}

/// Mutates a case; whatever the shape rule still takes has possible results and runs safely.
void run_mutant(const OpEntry& op, const OpCase& original, std::mt19937_64& random) {
  OpCase c = original;
  c.expected.clear();
  if (random() % 2 == 0) break_operands(&c, random);
  CaseNode node(op, c, random());
  for (uint64_t i = random() % 3; i > 0; --i) break_attribute(&node.attrs, random);
  SCOPED_TRACE(std::string(op.name) + "/" + c.name + " " + node.attrs.json());
  node.inferred = op.def->infer(node.attrs.view(), node.inputs, node.outputs);
  if (!node.inferred.ok()) {
    EXPECT_EQ(node.inferred.error(), Error::kInvalidArgument);
    EXPECT_NE(node.inferred.message()[0], '\0');
    return;
  }
  for (const TensorSpec& s : node.outputs) {
    int64_t count = 0;
    ASSERT_TRUE(s.present() && s.shape.checked_numel(&count));
  }
  if (!is_small(node.outputs)) return;
  const CaseResult result = run_kernel(node, op.def->reference, nullptr);
  EXPECT_TRUE(result.status.ok() || result.status.error() == Error::kOutOfRange)
      << result.status.message();
  EXPECT_EQ(result.misuse, "");
}

TEST(ShapeRule, MutantsAreRefusedOrRunSafely) {
  const uint64_t seed = conformance_seed();
  SCOPED_TRACE("LAZYRT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const CaseRef& c : case_refs()) {
    for (int i = 0; i < 12 && !HasFailure(); ++i) run_mutant(*c.op, *c.op_case, random);
  }
}

/// Extents that no allocation could hold, in every place of every op.
TEST(ShapeRule, ImpossibleExtentsAreRefusedOrGivePossibleResults) {
  std::mt19937_64 random(conformance_seed());
  for (const CaseRef& c : case_refs()) {
    CaseNode node(*c.op, *c.op_case, 1);
    for (TensorSpec& spec : node.inputs) {
      for (int i = 0; i < spec.shape.rank(); ++i) {
        const int64_t kept = spec.shape[i];
        spec.shape[i] = extreme_integer(random() % kExtremes);
        const Status status = c.op->def->infer(node.attrs.view(), node.inputs, node.outputs);
        int64_t count = 0;
        EXPECT_TRUE(!status.ok() || node.outputs[0].shape.checked_numel(&count)) << c.id();
        spec.shape[i] = kept;
      }
    }
  }
}

}  // namespace
}  // namespace lazyrt
