#pragma once

// The only access to XNNPACK: kernels ask here for operators, and nobody else calls xnn_create,
// xnn_reshape or xnn_setup. XNNPACK trusts its parameters: it multiplies some of them in 32 bits,
// does not notice an overflow, and then writes outside its buffers. What it cannot do is refused as
// kUnsupported before it is called; another backend runs the node.

#include <xnnpack.h>

#include <cmath>

#include "runtime/backends/cpu/cpu_backend.h"
#include "runtime/core/fault.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// State of a kernel that is one XNNPACK operator.
struct XnnState {
  xnn_operator_t op = nullptr;
};

/// y [rows, outputs] = clamp(x [rows, inputs] w^T + b).
struct XnnFullyConnected {
  size_t rows = 0, inputs = 0, outputs = 0;
  size_t output_stride = 0;        ///< floats from one row of y to the next
  const float* weights = nullptr;  ///< [outputs][inputs]; null: given at run, with the bias
  const float* bias = nullptr;     ///< may be null
  bool transposed = false;         ///< the weights are [inputs][outputs]
  float min = -HUGE_VALF, max = HUGE_VALF;
};

/// NHWC convolution or, as torch defines it, transposed convolution with filters
/// [groups * group_outputs][kernel_h][kernel_w][group_inputs].
struct XnnConvolution {
  int64_t pad_top = 0, pad_right = 0, pad_bottom = 0, pad_left = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t output_pad_h = 0, output_pad_w = 0;  ///< transposed only
  int64_t groups = 1, group_inputs = 0, group_outputs = 0;
  int64_t output_stride = 0;  ///< floats from one pixel of y to the next
  const float* filters = nullptr;
  const float* bias = nullptr;  ///< may be null
  float min = -HUGE_VALF, max = HUGE_VALF;
  Shape x, y;  ///< of y only batch, height and width count
};

/// Returns the attributes of conv2d or conv_transpose2d. REQUIRES: `node` passed its shape rule.
template <class Attrs>
XnnConvolution xnn_convolution_of(const NodeSpec& node, const Attrs& a) {
  const Shape& w = node.inputs[1].shape;
  XnnConvolution c;
  c.pad_top = a.pad_top(), c.pad_right = a.pad_right();
  c.pad_bottom = a.pad_bottom(), c.pad_left = a.pad_left();
  c.kernel_h = w[1], c.kernel_w = w[2];
  c.stride_h = a.stride_h(), c.stride_w = a.stride_w();
  c.dilation_h = a.dilation_h(), c.dilation_w = a.dilation_w();
  c.groups = a.groups(), c.group_inputs = w[3], c.group_outputs = w[0] / a.groups();
  c.output_stride = w[0];
  c.filters = static_cast<const float*>(node.inputs[1].constant);
  if (node.inputs.size() > 2) c.bias = static_cast<const float*>(node.inputs[2].constant);
  c.min = a.min(), c.max = a.max();
  c.x = node.inputs[0].shape, c.y = node.outputs[0].shape;
  return c;
}

/// a [batch_a..., m, k] times b [batch_b..., k, n], or b [batch_b..., n, k]; batch dims broadcast.
struct XnnBatchMatMul {
  size_t rank = 0;  ///< number of batch dims
  const size_t *batch_a = nullptr, *batch_b = nullptr;
  size_t m = 0, k = 0, n = 0;
  bool transposed = false;
};

/// Dim i of y is dim perm[i] of x; elements of 1, 2, 4 or 8 bytes.
struct XnnTranspose {
  size_t element_bytes = 0;
  size_t rank = 0;
  const size_t *shape = nullptr, *perm = nullptr;
};

// Each of these makes an operator, ready for setup, and adds to *prepared what it packed and the
// workspace that it needs. kUnsupported: XNNPACK cannot do this. On failure *op stays null.
// Messages begin with `call`.
Fault prepare_xnn(Word call, const PrepareContext& context, const XnnFullyConnected& layer,
                  xnn_operator_t* op, PreparedKernel* prepared);
Fault prepare_xnn(Word call, const PrepareContext& context, const XnnConvolution& conv,
                  xnn_operator_t* op, PreparedKernel* prepared);
Fault prepare_xnn_transposed(Word call, const PrepareContext& context, const XnnConvolution& conv,
                             xnn_operator_t* op, PreparedKernel* prepared);
Fault prepare_xnn(Word call, const PrepareContext& context, const XnnBatchMatMul& product,
                  xnn_operator_t* op, PreparedKernel* prepared);
Fault prepare_xnn(Word call, const PrepareContext& context, const XnnTranspose& transpose,
                  xnn_operator_t* op, PreparedKernel* prepared);

// Sets where an operator of that kind reads and writes. Call it in the same way whatever runs
// before the next one.
Fault setup_xnn_fully_connected(Word call, xnn_operator_t op, const float* x, float* y);
/// For weights given at run; `bias` may be null.
Fault setup_xnn_fully_connected(Word call, xnn_operator_t op, void* workspace, const float* x,
                                const float* weights, const float* bias, float* y);
Fault setup_xnn_convolution(Word call, xnn_operator_t op, void* workspace, const float* x,
                            float* y);
Fault setup_xnn_transposed(Word call, xnn_operator_t op, const float* x, float* y);
Fault setup_xnn_batch_matmul(Word call, xnn_operator_t op, void* workspace, const float* a,
                             const float* b, float* y);
Fault setup_xnn_transpose(Word call, xnn_operator_t op, size_t element_bytes, const void* x,
                          void* y);

/// REQUIRES: set up.
Fault run_xnn(Word call, xnn_operator_t op, const CpuServices& cpu);

/// To be called before any of these; it may be called often.
Fault initialize_xnn();
/// nullptr is fine.
void release_xnn_op(xnn_operator_t op);

/// Kernel::release of such kernels.
void release_xnn(void* state, const Allocator& allocator);

}  // namespace lazyrt
