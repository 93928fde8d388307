#include "tests/support/mixed_bundle.h"

#include <memory>
#include <random>

namespace lazyrt::test {
namespace {

class Network {
 public:
  Network(BundleParts* parts, const OpTable& ops) : b_(parts), ops_(ops) {}

  void build() {
    const int image = b_.input("image", DType::kFloat32, {1, 12, 12, 3});
    const int ids = b_.input("ids", DType::kInt64, {1, 5});
    const int features = convolutions(image);
    classify(features);
    b_.output("sequence", attend(embed(ids)));
  }

 private:
  template <class T>
  int op(const T& attrs, std::vector<int> inputs) {
    return b_.infer(ops_, attrs, std::move(inputs));
  }
  int weights(std::vector<int64_t> shape) {
    size_t count = 1;
    for (int64_t d : shape) count *= static_cast<size_t>(d);
    const std::vector<float> values = random_floats(count, ++seed_);
    return b_.constant("w" + std::to_string(seed_), DType::kFloat32, std::move(shape),
                       values.data());
  }
  int unary(fb::UnaryFn fn, int x) {
    fb::UnaryT t;
    t.fn = fn;
    return op(t, {x});
  }
  int binary(fb::BinaryFn fn, int x, int y) {
    fb::BinaryT t;
    t.fn = fn;
    return op(t, {x, y});
  }

  int convolutions(int x) {
    fb::Conv2dT conv;
    conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
    conv.min = 0;
    x = op(conv, {x, weights({8, 3, 3, 3}), weights({8})});
    fb::Conv2dT depthwise = conv;
    depthwise.groups = 8;
    depthwise.stride_h = depthwise.stride_w = 2;
    x = op(depthwise, {x, weights({8, 3, 3, 1}), weights({8})});
    x = unary(fb::UnaryFn::Hardswish, x);
    fb::ConvTranspose2dT up;
    up.stride_h = up.stride_w = 2;
    x = op(up, {x, weights({8, 2, 2, 8}), weights({8})});
    fb::MaxPool2dT pool;
    pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
    x = op(pool, {x});
    fb::AvgPool2dT average;
    average.kernel_h = average.kernel_w = 2;
    return op(average, {x});
  }

  void classify(int x) {
    fb::ReduceT mean;
    mean.fn = fb::ReduceFn::Mean;
    mean.axes = {1, 2};
    x = op(mean, {x});
    fb::LinearT linear;
    x = op(linear, {x, weights({4, 8}), weights({4})});
    fb::SoftmaxT softmax;
    softmax.axis = 1;
    const int classes = op(softmax, {x});
    fb::ArgReduceT best;
    best.axis = 1;
    b_.output("classes", classes);
    b_.output("best", op(best, {classes}));
  }

  int embed(int ids) {
    int x = op(fb::IndexSelectT{}, {weights({10, 8}), ids});
    x = binary(fb::BinaryFn::Add, x, weights({5, 8}));
    fb::LayerNormT norm;
    x = op(norm, {x, weights({8}), weights({8})});
    fb::GruT gru;
    gru.batch_first = true;
    return op(gru, {x, weights({1, 1, 8}), weights({24, 8}), weights({24, 8}), weights({24}),
                    weights({24})});
  }

  int attend(int x) {
    fb::MatMulT scores;
    scores.transpose_b = true;
    fb::SoftmaxT softmax;
    softmax.axis = 2;
    const int p = op(softmax, {op(scores, {x, x})});
    const int mixed = op(fb::MatMulT{}, {p, x});
    fb::PermuteT swap;
    swap.perm = {0, 2, 1};
    const int twice = op(swap, {op(swap, {mixed})});
    fb::ConcatT concat;
    concat.axis = 2;
    const int wide = op(concat, {twice, x});
    fb::SliceT slice;
    slice.starts = {0, 0, 4};
    slice.sizes = {1, 5, 8};
    slice.steps = {1, 1, 1};
    return unary(fb::UnaryFn::GeluTanh, op(slice, {wide}));
  }

  MethodBuilder b_;
  const OpTable& ops_;
  uint32_t seed_ = 0;
};

}  // namespace

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& x : out) x = static_cast<float>(random() >> 8) / 8388608.0f - 1.0f;
  return out;
}

BundleParts mixed_bundle(const OpTable& ops) {
  BundleParts parts;
  parts.bundle.producer = "mixed 1.0";
  Network(&parts, ops).build();
  return parts;
}

BundleParts sized_mixed_bundle(const OpTable& ops) {
  BundleParts parts = mixed_bundle(ops);
  fb::MethodT& method = *parts.bundle.methods[0];
  method.values[0]->symbols = {0, 1, 2, -1};
  for (const char* name : {"batch", "height", "width"}) {
    const bool is_batch = name[0] == 'b';
    auto symbol = std::make_unique<fb::SymbolT>();
    symbol->name = name;
    symbol->min = is_batch ? 1 : 8;
    symbol->max = is_batch ? 4 : 32;
    symbol->multiple = is_batch ? 1 : 4;
    method.symbols.push_back(std::move(symbol));
  }
  return parts;
}

}  // namespace lazyrt::test
