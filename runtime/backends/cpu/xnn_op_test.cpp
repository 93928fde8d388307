#include "runtime/backends/cpu/xnn_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/backend/backend.h"

namespace lazyrt {
namespace {

/// A session's services and the answers of one prepare.
class XnnOp : public testing::Test {
 protected:
  void SetUp() override {
    BackendOptions options;
    options.allocator = platform_allocator();
    ASSERT_TRUE(cpu_backend()->open(options, &context_.backend).ok());
    context_.allocator = options.allocator;
  }
  void TearDown() override {
    release_xnn_op(op_);
    cpu_backend()->close(context_.backend, context_.allocator);
  }

  /// What prepare answers; the operator is released again.
  template <class What>
  Error answer(const What& what) {
    const Status status = prepare_xnn("x", context_, what, &op_, &prepared_);
    EXPECT_EQ(op_ != nullptr, status.ok());
    release_xnn_op(op_);
    op_ = nullptr;
    return status.error();
  }
  Error answer_transposed(const XnnConvolution& c) {
    const Status status = prepare_xnn_transposed("x", context_, c, &op_, &prepared_);
    EXPECT_EQ(op_ != nullptr, status.ok());
    release_xnn_op(op_);
    op_ = nullptr;
    return status.error();
  }

  PrepareContext context_;
  PreparedKernel prepared_;
  xnn_operator_t op_ = nullptr;
};

const float kNumbers[64] = {};

/// 3x3 with 2 filters of 2 channels on 5x5.
XnnConvolution small_convolution() {
  XnnConvolution c;
  c.kernel_h = c.kernel_w = 3;
  c.group_inputs = c.group_outputs = c.output_stride = 2;
  c.filters = kNumbers;
  c.x = {1, 5, 5, 2}, c.y = {1, 3, 3, 2};
  return c;
}

/// The same, transposed, at stride 2.
XnnConvolution small_transposed() {
  XnnConvolution c = small_convolution();
  c.stride_h = c.stride_w = 2;
  c.y = {1, 11, 11, 2};
  return c;
}

using Change = std::function<void(XnnConvolution*)>;

const std::vector<Change>& impossible() {
  static const std::vector<Change> kChanges = {
      [](auto* c) { c->pad_left = -1; },
      [](auto* c) { c->pad_bottom = int64_t{1} << 32; },
      [](auto* c) { c->kernel_w = 0; },
      [](auto* c) { c->stride_h = 0; },
      [](auto* c) { c->dilation_w = int64_t{1} << 32; },
      [](auto* c) { c->groups = 0; },
      [](auto* c) { c->group_inputs = 0; },
      [](auto* c) { c->min = 1, c->max = 0; },
      [](auto* c) { c->max = std::nanf(""); },
      [](auto* c) {
        c->x = {1, 0, 0, 2};
      },
      [](auto* c) {
        c->y = {0, 3, 3, 2};
      },
      // Products of 32 bits: 2^32 positions of a kernel, 2^32 floats of a filter, positions within
      // a stride, channels.
      [](auto* c) { c->kernel_h = c->kernel_w = 65536; },
      [](auto* c) { c->kernel_h = c->kernel_w = 16384; },
      [](auto* c) { c->kernel_w = INT32_MAX; },
      [](auto* c) { c->stride_h = c->stride_w = 65536; },
      [](auto* c) { c->groups = 1 << 20, c->group_inputs = 1 << 12; },
      [](auto* c) { c->groups = 1 << 20, c->group_outputs = 1 << 12; },
      // Of 64 bits: the pointers to x, the filters.
      [](auto* c) {
        c->kernel_h = c->kernel_w = 2048, c->y = {1, 1 << 15, 1 << 15, 1};
      },
      [](auto* c) { c->kernel_h = c->kernel_w = 2048, c->group_outputs = INT32_MAX; },
      [](auto* c) {
        c->x = {int64_t{1} << 40, 1 << 10, 1 << 10, 2};
      },
  };
  return kChanges;
}

TEST_F(XnnOp, RefusesConvolutionsThatXnnpackMiscounts) {
  EXPECT_EQ(answer(small_convolution()), Error::kOk);
  for (size_t i = 0; i < impossible().size(); ++i) {
    XnnConvolution c = small_convolution();
    impossible()[i](&c);
    EXPECT_EQ(answer(c), Error::kUnsupported) << "change " << i;
  }
}

TEST_F(XnnOp, RefusesTransposedConvolutionsThatXnnpackMiscounts) {
  EXPECT_EQ(answer_transposed(small_transposed()), Error::kOk);
  std::vector<Change> changes = impossible();
  changes.push_back([](auto* c) { c->output_pad_h = 2; });
  changes.push_back([](auto* c) { c->output_pad_w = -1; });
  // Some positions within the stride have no output.
  changes.push_back([](auto* c) {
    c->stride_h = c->stride_w = c->kernel_h = c->kernel_w = 4;
    c->pad_left = c->pad_top = 2, c->pad_bottom = c->pad_right = 1;
    c->x = {1, 1, 1, 1}, c->y = {1, 1, 1, 1};
  });
  for (size_t i = 0; i < changes.size(); ++i) {
    XnnConvolution c = small_transposed();
    changes[i](&c);
    EXPECT_EQ(answer_transposed(c), Error::kUnsupported) << "change " << i;
  }
}

/// 2^bits, or the largest power of two that a size can be.
size_t power_of_two(size_t bits) { return size_t{1} << std::min(bits, sizeof(size_t) * 8 - 1); }

TEST_F(XnnOp, RefusesProductsThatXnnpackMiscounts) {
  XnnFullyConnected layer = {3, 4, 5, 5, kNumbers};
  EXPECT_EQ(answer(layer), Error::kOk);
  layer.rows = 0;
  EXPECT_EQ(answer(layer), Error::kUnsupported);
  layer.rows = power_of_two(62);
  EXPECT_EQ(answer(layer), Error::kUnsupported);
  layer.rows = 3, layer.inputs = power_of_two(40);
  EXPECT_EQ(answer(layer), Error::kUnsupported);
  layer.inputs = 4, layer.max = std::nanf("");
  EXPECT_EQ(answer(layer), Error::kUnsupported);
  const size_t one[] = {1, 1}, many[] = {size_t{1} << 31, size_t{1} << 31}, none[] = {2, 0};
  EXPECT_EQ(answer(XnnBatchMatMul{2, one, one, 2, 3, 4}), Error::kOk);
  EXPECT_EQ(answer(XnnBatchMatMul{2, one, one, 2, 0, 4}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnBatchMatMul{2, many, one, 2, 3, 4}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnBatchMatMul{2, one, none, 2, 3, 4}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnBatchMatMul{7, one, one, 2, 3, 4}), Error::kUnsupported);
}

TEST_F(XnnOp, RefusesTranspositionsThatXnnpackMiscounts) {
  const size_t shape[] = {2, 3}, perm[] = {1, 0}, empty[] = {2, 0}, same[] = {0, 0};
  const size_t large[] = {size_t{1} << 31, size_t{1} << 31};
  for (const size_t bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(answer(XnnTranspose{bytes, 2, shape, perm}), Error::kOk);
  }
  EXPECT_EQ(answer(XnnTranspose{4, 0, shape, perm}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnTranspose{4, 7, shape, perm}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnTranspose{4, 2, empty, perm}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnTranspose{4, 2, large, perm}), Error::kUnsupported);
  EXPECT_EQ(answer(XnnTranspose{4, 2, shape, same}), Error::kUnsupported);  // deletes the operator
}

}  // namespace
}  // namespace lazyrt
