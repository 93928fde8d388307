// XNNPACK's batch matrix multiply; one constant b for all batches is packed once, as in a linear
// layer. Without XNNPACK, our gemm packs each b again.

#include <cmath>

#include "kernels/common/check.h"
#include "runtime/backends/cpu/gemm_panels.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_op.h"
#endif

namespace lazyrt {

extern const Kernel matmul_cpu;

namespace {

/// The product in XNNPACK's form: batch dims of a and b are padded to one length and merged where
/// possible.
struct Product {
  size_t rank = 0;
  size_t a[kMaxRank] = {};
  size_t b[kMaxRank] = {};
  size_t m = 1, k = 1, n = 1;
};

int64_t batch_dim(const Shape& shape, int from_back) {
  return from_back + 2 < shape.rank() ? shape.back(from_back + 2) : 1;
}

/// How a dim broadcasts; neighbours of the same kind can be merged.
enum class Kind { kBoth, kOnlyA, kOnlyB };

void add_batch_dim(Product* p, Kind* last, size_t a, size_t b) {
  if (a == 1 && b == 1) return;
  const Kind kind = a == b ? Kind::kBoth : b == 1 ? Kind::kOnlyA : Kind::kOnlyB;
  if (p->rank > 0 && kind == *last) {
    p->a[p->rank - 1] *= a;
    p->b[p->rank - 1] *= b;
  } else {
    p->a[p->rank] = a;
    p->b[p->rank++] = b;
  }
  *last = kind;
}

Product product_of(const NodeSpec& node) {
  const Shape& a = node.inputs[0].shape;
  const Shape& b = node.inputs[1].shape;
  const Shape& y = node.outputs[0].shape;
  Product p;
  Kind last = Kind::kBoth;
  for (int i = y.rank() - 3; i >= 0; --i) {
    add_batch_dim(&p, &last, static_cast<size_t>(batch_dim(a, i)),
                  static_cast<size_t>(batch_dim(b, i)));
  }
  p.m = static_cast<size_t>(a.back(1));
  p.k = static_cast<size_t>(a.back(0));
  p.n = static_cast<size_t>(y.back(0));
  if (p.rank == 1 && last == Kind::kOnlyA) {  // one b: all of a is one tall matrix
    p.m *= p.a[0];
    p.rank = 0;
  }
  return p;
}

Fault supports(const NodeSpec& node) {
  if (node.inputs[0].dtype != DType::kFloat32)
    return Fault(Error::kUnsupported, "matmul: only f32");
  if (node.inputs[0].numel() == 0 || node.inputs[1].numel() == 0) {
    return Fault(Error::kUnsupported, "matmul: empty operand");
  }
  if (node.inputs[0].shape.rank() < 2 || node.inputs[1].shape.rank() < 2) {
    return Fault(Error::kUnsupported, "matmul: a vector operand");
  }
#if LAZYRT_HAS_XNNPACK
  if (product_of(node).rank > XNN_MAX_TENSOR_DIMS) {
    return Fault(Error::kUnsupported, "matmul: too many batch dims");
  }
#endif
  return {};
}

#if LAZYRT_HAS_XNNPACK

Fault takes_packed(const NodeSpec& node) {
  return takes(node.inputs[1].constant != nullptr && product_of(node).rank == 0, "a constant b");
}

Fault prepare_packed(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("matmul");
  prepared->state = state;
  const Product p = product_of(context.node);
  XnnFullyConnected layer = {p.m, p.k, p.n, p.n};
  layer.weights = static_cast<const float*>(context.node.inputs[1].constant);
  layer.transposed = !context.node.attrs.as<fb::MatMul>().transpose_b();
  return prepared_or_released(prepare_xnn("matmul", context, layer, &state->op, prepared),
                              context.allocator, prepared, release_xnn);
}

Fault run_packed(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(setup_xnn_fully_connected(
        "matmul: setup", op, context.inputs[0].as<const float>(), context.outputs[0].as<float>()));
  }
  return run_xnn("matmul: run", op, cpu_services(context));
}

Fault prepare_batches(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("matmul");
  prepared->state = state;
  const Product p = product_of(context.node);
  const bool transposed = context.node.attrs.as<fb::MatMul>().transpose_b();
  const XnnBatchMatMul product = {p.rank, p.a, p.b, p.m, p.k, p.n, transposed};
  return prepared_or_released(prepare_xnn("matmul", context, product, &state->op, prepared),
                              context.allocator, prepared, release_xnn);
}

Fault run_batches(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(setup_xnn_batch_matmul(
        "matmul: setup", op, context.workspace, context.inputs[0].as<const float>(),
        context.inputs[1].as<const float>(), context.outputs[0].as<float>()));
  }
  return run_xnn("matmul: run", op, cpu_services(context));
}

constexpr Kernel kWays[] = {
    {takes_packed, prepare_packed, run_packed, release_xnn},
    {nullptr, prepare_batches, run_batches, release_xnn},
};

#else

Fault prepare_own(const PrepareContext& context, PreparedKernel* prepared) {
  const Product p = product_of(context.node);
  return passing_panels_bytes("matmul", p.k, p.n, &prepared->workspace_bytes);
}

/// Finds the matrices of a and b for batch number `batch` of y, counted in matrices: dims of extent
/// 1 broadcast.
void matrices_of(const Product& p, size_t batch, size_t* a, size_t* b) {
  size_t step_a = 1, step_b = 1;
  *a = *b = 0;
  for (size_t i = p.rank; i-- > 0;) {
    const size_t extent = std::max(p.a[i], p.b[i]), at = batch % extent;
    *a += p.a[i] == 1 ? 0 : at * step_a;
    *b += p.b[i] == 1 ? 0 : at * step_b;
    step_a *= p.a[i], step_b *= p.b[i];
    batch /= extent;
  }
}

Fault run_own(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const TensorView &a = context.inputs[0], &b = context.inputs[1], &y = context.outputs[0];
  const TensorSpec inputs[] = {{a.dtype, a.shape, nullptr}, {b.dtype, b.shape, nullptr}};
  const TensorSpec output = {y.dtype, y.shape, nullptr};
  const Product p = product_of({context.attrs, inputs, Span<const TensorSpec>(&output, 1)});
  const bool by_columns = context.attrs.as<fb::MatMul>().transpose_b();
  const size_t batches = static_cast<size_t>(y.numel()) / (p.m * p.n);
  GemmPanels panels;
  size_t packed = SIZE_MAX;  // the matrix of b that the panels hold
  for (size_t batch = 0; batch < batches; ++batch) {
    size_t at_a = 0, at_b = 0;
    matrices_of(p, batch, &at_a, &at_b);
    if (at_b != packed) {
      panels = pack_passing(cpu, b.as<const float>() + at_b * p.k * p.n, by_columns, nullptr, p.k,
                            p.n, context.workspace);
      packed = at_b;
    }
    run_gemm(cpu, panels,
             {a.as<const float>() + at_a * p.m * p.k, p.k, p.m, y.as<float>() + batch * p.m * p.n,
              p.n, -HUGE_VALF, HUGE_VALF});
  }
  return {};
}

constexpr Kernel kWays[] = {{nullptr, prepare_own, run_own, nullptr}};

#endif

}  // namespace

const Kernel matmul_cpu = {supports, nullptr, nullptr, nullptr, kWays};

}  // namespace lazyrt
