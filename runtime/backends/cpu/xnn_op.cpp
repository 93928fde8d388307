#include "runtime/backends/cpu/xnn_op.h"

#include <algorithm>

#include "runtime/backends/cpu/xnn_memory.h"

namespace lazyrt {
namespace {

/// The largest factor of a 32-bit product, and the bound of all sizes in bytes: far above what is
/// addressed, and low enough that nothing computed from a few of them overflows.
constexpr int64_t kMost32 = INT32_MAX;
constexpr int64_t kMostBytes = int64_t{1} << 47;
/// XNNPACK rounds channels up to at most this many, and computes at most this many pixels at once.
constexpr int64_t kLargestTile = 64;

enum class Phase { kPrepare, kRun };

Fault status_of_xnn(Word call, enum xnn_status status, Phase phase) {
  switch (status) {
    case xnn_status_success:
      return {};
    case xnn_status_out_of_memory:
      return Fault(Error::kOutOfMemory, "%s: no memory for XNNPACK", call);
    case xnn_status_unsupported_hardware:
      return Fault(Error::kUnsupported, "%s: this processor is not supported", call);
    default:
      // XNNPACK rejects bad parameters in prepare; a failure in run is our bug.
      return Fault(phase == Phase::kPrepare ? Error::kUnsupported : Error::kInternal,
                   "%s: XNNPACK answered %d", call, static_cast<int>(status));
  }
}

Fault refused(Word call, Word why) {
  return Fault(Error::kUnsupported, "%s: XNNPACK cannot take %s", call, why);
}

/// Returns the product, or -1 if it exceeds `most` or a factor is negative.
template <class... Factors>
int64_t product_up_to(int64_t most, Factors... factors) {
  int64_t product = 1;
  for (const int64_t factor : {static_cast<int64_t>(factors)...}) {
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product) || product > most) {
      return -1;
    }
  }
  return product;
}
template <class... Factors>
bool fits(int64_t most, Factors... factors) {
  return product_up_to(most, factors...) >= 0;
}

bool in_range(int64_t low, std::initializer_list<int64_t> values) {
  for (const int64_t value : values) {
    if (value < low || value > kMost32) return false;
  }
  return true;
}

/// A create call succeeded only if it gave an operator: XNNPACK forgets to report a lack of memory
/// when it frees a half-made operator.
Fault created(Word call, enum xnn_status status, const xnn_operator_t* op) {
  if (status == xnn_status_success && *op == nullptr) status = xnn_status_out_of_memory;
  return status_of_xnn(call, status, Phase::kPrepare);
}

/// Releases the operator if `status` is not ok.
Fault or_release(Fault status, xnn_operator_t* op) {
  if (status.ok()) return status;
  release_xnn_op(*op);
  *op = nullptr;
  return status;
}

void add_workspace(size_t bytes, PreparedKernel* prepared) {
  prepared->workspace_bytes = std::max(prepared->workspace_bytes, bytes);
}

// Fully connected.

Fault check(Word call, const XnnFullyConnected& l) {
  if (l.rows == 0 || l.inputs == 0 || l.outputs == 0) return refused(call, "an empty operand");
  if (!(l.min <= l.max)) return refused(call, "an empty clamp");
  const int64_t tile = kLargestTile * kLargestTile * static_cast<int64_t>(sizeof(float));
  if (fits(kMostBytes, l.inputs, l.outputs, tile) && fits(kMostBytes, l.rows, l.inputs, tile) &&
      fits(kMostBytes, l.rows, l.output_stride, tile)) {
    return {};
  }
  return refused(call, "operands this large");
}

Fault create(Word call, const CpuServices& cpu, const XnnFullyConnected& l, xnn_operator_t* op,
             size_t* packed_bytes) {
  if (l.weights == nullptr) {
    return created(call, xnn_create_dynamic_fully_connected_nc_f32(l.min, l.max, 0, op), op);
  }
  PackingTag tag = {Packer::kXnnFullyConnected};
  tag.add(static_cast<int64_t>(l.inputs)).add(static_cast<int64_t>(l.outputs)).add(l.transposed);
  WeightStore::Packing packing(cpu.weights, tag, l.inputs * l.outputs * sizeof(float), cpu.memory);
  const Fault status =
      created(call,
              xnn_create_fully_connected_nc_f32(
                  l.inputs, l.outputs, l.inputs, l.output_stride, l.weights, l.bias, l.min, l.max,
                  l.transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0, nullptr, packing.cache(), op),
              op);
  *packed_bytes += packing.new_bytes();
  return status;
}

enum xnn_status reshape(const CpuServices& cpu, const XnnFullyConnected& l, xnn_operator_t op,
                        size_t* workspace_bytes) {
  if (l.weights != nullptr) return xnn_reshape_fully_connected_nc_f32(op, l.rows, cpu.pool);
  size_t alignment = 0;
  return xnn_reshape_dynamic_fully_connected_nc_f32(op, l.rows, l.inputs, l.outputs, l.inputs,
                                                    l.output_stride, workspace_bytes, &alignment,
                                                    cpu.pool);
}

// Convolutions.

/// Bytes of the pointers to x that XNNPACK keeps: one for each output pixel and kernel position,
/// rounded up to the number that it computes at once. -1: too many.
int64_t pointer_bytes(const XnnConvolution& c) {
  const int64_t width = c.y[2] + (c.stride_w + 1) * kLargestTile;
  return product_up_to(kMostBytes, c.kernel_h, c.kernel_w, c.y[1] + kLargestTile, width,
                       sizeof(void*));
}

Fault check_sizes(Word call, const XnnConvolution& c) {
  const int64_t channels = c.group_inputs + kLargestTile;
  // XNNPACK computes these in 32 bits: the bytes of a filter, and the strides of a transposed
  // convolution.
  if (!fits(kMost32, c.kernel_h, c.kernel_w, channels, sizeof(float)) ||
      !fits(kMost32, c.stride_h, c.stride_w) || !fits(kMost32, c.groups, c.group_outputs) ||
      !fits(kMost32, c.groups, c.group_inputs)) {
    return refused(call, "a kernel this large");
  }
  const int64_t filter = c.kernel_h * c.kernel_w * channels * static_cast<int64_t>(sizeof(float));
  if (!fits(kMostBytes, filter, c.group_outputs + kLargestTile, c.groups) ||
      !fits(kMostBytes, c.x[0], c.x[1], c.x[2], c.x[3], sizeof(float)) ||
      !fits(kMostBytes, c.y[0], c.y[1], c.y[2], c.output_stride, sizeof(float)) ||
      pointer_bytes(c) < 0) {
    return refused(call, "operands this large");
  }
  return {};
}

Fault check(Word call, const XnnConvolution& c) {
  if (!in_range(0, {c.pad_top, c.pad_right, c.pad_bottom, c.pad_left})) {
    return refused(call, "this padding");
  }
  if (!in_range(1, {c.kernel_h, c.kernel_w, c.stride_h, c.stride_w, c.dilation_h, c.dilation_w,
                    c.groups, c.group_inputs, c.group_outputs})) {
    return refused(call, "these sizes");
  }
  if (c.x.numel() == 0 || c.y.numel() == 0) return refused(call, "an empty operand");
  if (!(c.min <= c.max)) return refused(call, "an empty clamp");
  return check_sizes(call, c);
}

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
size_t size(int64_t value) { return static_cast<size_t>(value); }

size_t filter_bytes(const XnnConvolution& c) {
  return size(c.kernel_h * c.kernel_w * c.group_inputs * c.group_outputs * c.groups) *
         sizeof(float);
}

PackingTag tag_of(Packer packer, const XnnConvolution& c) {
  PackingTag tag = {packer};
  return tag.add(c.kernel_h).add(c.kernel_w).add(c.groups).add(c.group_inputs).add(c.group_outputs);
}

/// The layout of the filters does not depend on padding, stride and dilation, but XNNPACK uses
/// other routines for 1x1 without gaps and padding.
PackingTag convolution_tag(const XnnConvolution& c) {
  const bool slides_by_one = c.stride_h == 1 && c.stride_w == 1 && c.pad_top == 0 &&
                             c.pad_left == 0 && c.pad_bottom == 0 && c.pad_right == 0;
  return tag_of(Packer::kXnnConvolution, c).add(slides_by_one);
}

/// XNNPACK divides the filters into one for each position within a stride.
PackingTag deconvolution_tag(const XnnConvolution& c) {
  const bool dilated = c.dilation_h > 1 || c.dilation_w > 1;
  return tag_of(Packer::kXnnDeconvolution, c).add(c.stride_h).add(c.stride_w).add(dilated);
}

/// Functions of one type create both kinds of convolution.
Fault create(Word call, const CpuServices& cpu, const XnnConvolution& c, const PackingTag& tag,
             decltype(&xnn_create_convolution2d_nhwc_f32) create_op, xnn_operator_t* op,
             size_t* packed_bytes) {
  WeightStore::Packing packing(cpu.weights, tag, filter_bytes(c), cpu.memory);
  const enum xnn_status status = create_op(
      u32(c.pad_top), u32(c.pad_right), u32(c.pad_bottom), u32(c.pad_left), u32(c.kernel_h),
      u32(c.kernel_w), u32(c.stride_h), u32(c.stride_w), u32(c.dilation_h), u32(c.dilation_w),
      u32(c.groups), size(c.group_inputs), size(c.group_outputs), size(c.group_inputs * c.groups),
      size(c.output_stride), c.filters, c.bias, c.min, c.max, 0, nullptr, packing.cache(), op);
  *packed_bytes += packing.new_bytes();
  return created(call, status, op);
}

/// XNNPACK computes what the shape rule says.
Fault check_output(Word call, const XnnConvolution& c, size_t height, size_t width) {
  if (height == size(c.y[1]) && width == size(c.y[2])) return {};
  return Fault(Error::kInternal, "%s: XNNPACK makes %zux%zu of %s", call, height, width,
               shape_text(c.y).text);
}

Fault reshape(Word call, const CpuServices& cpu, const XnnConvolution& c, xnn_operator_t op,
              size_t* workspace_bytes) {
  size_t height = 0, width = 0, alignment = 0;
  LAZYRT_RETURN_IF_ERROR(status_of_xnn(
      call,
      xnn_reshape_convolution2d_nhwc_f32(op, size(c.x[0]), size(c.x[1]), size(c.x[2]),
                                         workspace_bytes, &alignment, &height, &width, cpu.pool),
      Phase::kPrepare));
  return check_output(call, c, height, width);
}

Fault reshape_transposed(Word call, const CpuServices& cpu, const XnnConvolution& c,
                         xnn_operator_t op) {
  size_t height = 0, width = 0;
  LAZYRT_RETURN_IF_ERROR(status_of_xnn(
      call,
      xnn_reshape_deconvolution2d_nhwc_f32(op, size(c.x[0]), size(c.x[1]), size(c.x[2]),
                                           u32(c.output_pad_h), u32(c.output_pad_w), &height,
                                           &width, cpu.pool),
      Phase::kPrepare));
  return check_output(call, c, height, width);
}

/// Whether XNNPACK runs it as one convolution for each position within the stride.
bool is_cut_by_stride(const XnnConvolution& c) {
  return c.dilation_h == 1 && c.dilation_w == 1 && c.stride_h <= c.kernel_h &&
         c.stride_w <= c.kernel_w;
}

/// If XNNPACK divides the convolution so and the output is smaller than the stride, it writes
/// pointers without end: the first pixel of some positions lies behind the output.
Fault check_transposed(Word call, const XnnConvolution& c) {
  LAZYRT_RETURN_IF_ERROR(check(call, c));
  if (!in_range(0, {c.output_pad_h, c.output_pad_w}) || c.output_pad_h >= c.stride_h ||
      c.output_pad_w >= c.stride_w) {
    return refused(call, "output padding of a stride or more");
  }
  constexpr int64_t kMostPositions = 64 * 64;  // a record is kept of each
  if (is_cut_by_stride(c) &&
      (c.y[1] < c.stride_h || c.y[2] < c.stride_w || c.stride_h * c.stride_w > kMostPositions)) {
    return refused(call, "a stride this large");
  }
  return {};
}

// Batched products.

Fault check(Word call, const XnnBatchMatMul& p) {
  if (p.rank > XNN_MAX_TENSOR_DIMS) return refused(call, "so many batch dims");
  if (p.m == 0 || p.k == 0 || p.n == 0) return refused(call, "an empty operand");
  int64_t batch_a = 1, batch_b = 1, batch_y = 1;
  for (size_t i = 0; i < p.rank; ++i) {
    if (p.batch_a[i] == 0 || p.batch_b[i] == 0) return refused(call, "an empty operand");
    batch_a = product_up_to(kMostBytes, batch_a, p.batch_a[i]);
    batch_b = product_up_to(kMostBytes, batch_b, p.batch_b[i]);
    batch_y = product_up_to(kMostBytes, batch_y, std::max(p.batch_a[i], p.batch_b[i]));
  }
  const int64_t tile = kLargestTile * kLargestTile * static_cast<int64_t>(sizeof(float));
  if (fits(kMostBytes, batch_a, p.m, p.k, tile) && fits(kMostBytes, batch_b, p.k, p.n, tile) &&
      fits(kMostBytes, batch_y, p.m, p.n, tile)) {
    return {};
  }
  return refused(call, "operands this large");
}

// Transposition.

Fault check(Word call, const XnnTranspose& t) {
  if (t.rank == 0 || t.rank > XNN_MAX_TENSOR_DIMS) return refused(call, "so many dims");
  int64_t bytes = static_cast<int64_t>(t.element_bytes);
  for (size_t i = 0; i < t.rank; ++i) {
    if (t.shape[i] == 0) return refused(call, "an empty operand");
    bytes = product_up_to(kMostBytes, bytes, t.shape[i]);
  }
  return bytes >= 0 ? Fault() : refused(call, "operands this large");
}

enum xnn_status create_and_reshape(const XnnTranspose& t, pthreadpool_t pool, xnn_operator_t* op) {
  const auto make = [&](auto create, auto reshape) {
    enum xnn_status status = create(0, op);
    if (status != xnn_status_success) return status;
    status = reshape(*op, t.rank, t.shape, t.perm, pool);
    if (status != xnn_status_success) *op = nullptr;  // it has deleted the operator
    return status;
  };
  switch (t.element_bytes) {
    case 1:
      return make(xnn_create_transpose_nd_x8, xnn_reshape_transpose_nd_x8);
    case 2:
      return make(xnn_create_transpose_nd_x16, xnn_reshape_transpose_nd_x16);
    case 4:
      return make(xnn_create_transpose_nd_x32, xnn_reshape_transpose_nd_x32);
    default:
      return make(xnn_create_transpose_nd_x64, xnn_reshape_transpose_nd_x64);
  }
}

}  // namespace

Fault prepare_xnn(Word call, const PrepareContext& context, const XnnFullyConnected& layer,
                  xnn_operator_t* op, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(check(call, layer));
  const XnnMemory memory(context.allocator);
  const CpuServices& cpu = cpu_services(context);
  LAZYRT_RETURN_IF_ERROR(create(call, cpu, layer, op, &prepared->packed_weight_bytes));
  size_t workspace = 0;
  const enum xnn_status status = reshape(cpu, layer, *op, &workspace);
  add_workspace(workspace, prepared);
  return or_release(status_of_xnn(call, status, Phase::kPrepare), op);
}

Fault prepare_xnn(Word call, const PrepareContext& context, const XnnConvolution& conv,
                  xnn_operator_t* op, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(check(call, conv));
  const XnnMemory memory(context.allocator);
  const CpuServices& cpu = cpu_services(context);
  LAZYRT_RETURN_IF_ERROR(create(call, cpu, conv, convolution_tag(conv),
                                xnn_create_convolution2d_nhwc_f32, op,
                                &prepared->packed_weight_bytes));
  size_t workspace = 0;
  const Fault status = reshape(call, cpu, conv, *op, &workspace);
  add_workspace(workspace, prepared);
  return or_release(status, op);
}

Fault prepare_xnn_transposed(Word call, const PrepareContext& context, const XnnConvolution& conv,
                             xnn_operator_t* op, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(check_transposed(call, conv));
  const XnnMemory memory(context.allocator);
  const CpuServices& cpu = cpu_services(context);
  LAZYRT_RETURN_IF_ERROR(create(call, cpu, conv, deconvolution_tag(conv),
                                xnn_create_deconvolution2d_nhwc_f32, op,
                                &prepared->packed_weight_bytes));
  return or_release(reshape_transposed(call, cpu, conv, *op), op);
}

Fault prepare_xnn(Word call, const PrepareContext& context, const XnnBatchMatMul& product,
                  xnn_operator_t* op, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(check(call, product));
  const XnnMemory memory(context.allocator);
  LAZYRT_RETURN_IF_ERROR(created(
      call,
      xnn_create_batch_matrix_multiply_nc_f32(product.transposed ? XNN_FLAG_TRANSPOSE_B : 0, op),
      op));
  size_t workspace = 0, alignment = 0;
  const enum xnn_status status = xnn_reshape_batch_matrix_multiply_nc_f32(
      *op, product.rank, product.batch_a, product.batch_b, product.m, product.k, product.n,
      &workspace, &alignment, cpu_services(context).pool);
  add_workspace(workspace, prepared);
  return or_release(status_of_xnn(call, status, Phase::kPrepare), op);
}

Fault prepare_xnn(Word call, const PrepareContext& context, const XnnTranspose& transpose,
                  xnn_operator_t* op, PreparedKernel*) {
  LAZYRT_RETURN_IF_ERROR(check(call, transpose));
  const XnnMemory memory(context.allocator);
  return created(call, create_and_reshape(transpose, cpu_services(context).pool, op), op);
}

Fault setup_xnn_fully_connected(Word call, xnn_operator_t op, const float* x, float* y) {
  return status_of_xnn(call, xnn_setup_fully_connected_nc_f32(op, x, y), Phase::kRun);
}

Fault setup_xnn_fully_connected(Word call, xnn_operator_t op, void* workspace, const float* x,
                                const float* weights, const float* bias, float* y) {
  return status_of_xnn(call,
                       xnn_setup_dynamic_fully_connected_nc_f32(op, workspace, x, weights, bias, y),
                       Phase::kRun);
}

Fault setup_xnn_convolution(Word call, xnn_operator_t op, void* workspace, const float* x,
                            float* y) {
  return status_of_xnn(call, xnn_setup_convolution2d_nhwc_f32(op, workspace, x, y), Phase::kRun);
}

Fault setup_xnn_transposed(Word call, xnn_operator_t op, const float* x, float* y) {
  return status_of_xnn(call, xnn_setup_deconvolution2d_nhwc_f32(op, x, y), Phase::kRun);
}

Fault setup_xnn_batch_matmul(Word call, xnn_operator_t op, void* workspace, const float* a,
                             const float* b, float* y) {
  return status_of_xnn(call, xnn_setup_batch_matrix_multiply_nc_f32(op, workspace, a, b, y),
                       Phase::kRun);
}

Fault setup_xnn_transpose(Word call, xnn_operator_t op, size_t element_bytes, const void* x,
                          void* y) {
  const auto setup = element_bytes == 1   ? xnn_setup_transpose_nd_x8
                     : element_bytes == 2 ? xnn_setup_transpose_nd_x16
                     : element_bytes == 4 ? xnn_setup_transpose_nd_x32
                                          : xnn_setup_transpose_nd_x64;
  return status_of_xnn(call, setup(op, x, y), Phase::kRun);
}

Fault run_xnn(Word call, xnn_operator_t op, const CpuServices& cpu) {
  return status_of_xnn(call, xnn_run_operator(op, cpu.pool), Phase::kRun);
}

Fault initialize_xnn() {
  return status_of_xnn("xnn_initialize", xnn_initialize(xnn_memory_hooks()), Phase::kPrepare);
}

void release_xnn_op(xnn_operator_t op) {
  if (op != nullptr) xnn_delete_operator(op);
}

void release_xnn(void* state, const Allocator& allocator) {
  if (state == nullptr) return;
  release_xnn_op(static_cast<XnnState*>(state)->op);
  allocator.release(allocator.context, state);
}

}  // namespace lazyrt
