// Reordering of dims. Where the innermost dim stays, rows are copied; else XNNPACK transposes, or
// without it elements are copied.

#include "kernels/common/check.h"
#include "kernels/common/parallel_copy_cpu.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_op.h"
#endif

namespace lazyrt {

extern const Kernel permute_cpu;

namespace {

#if LAZYRT_HAS_XNNPACK

/// The permutation without dims of extent 1, with dims that stay neighbours merged.
struct Transposition {
  size_t rank = 0;
  size_t shape[kMaxRank] = {};  ///< of x
  size_t perm[kMaxRank] = {};
};

Transposition transposition_of(const NodeSpec& node) {
  const Shape& x = node.inputs[0].shape;
  const Shape perm = attribute_list(node.attrs.as<fb::Permute>().perm());
  int order[kMaxRank];  // y's dims as x's, without those of extent 1
  int rank = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (x[static_cast<int>(perm[i])] != 1) order[rank++] = static_cast<int>(perm[i]);
  }
  // Runs of y's dims that are consecutive in x (counting only dims that are not 1).
  const auto next_in_x = [&](int dim) {
    for (++dim; dim < x.rank() && x[dim] == 1; ++dim) {
    }
    return dim;
  };
  int head[kMaxRank];
  size_t extent[kMaxRank];
  Transposition t;
  for (int i = 0; i < rank; ++i) {
    const auto size = static_cast<size_t>(x[order[i]]);
    if (i > 0 && order[i] == next_in_x(order[i - 1])) {
      extent[t.rank - 1] *= size;
    } else {
      head[t.rank] = order[i];
      extent[t.rank++] = size;
    }
  }
  for (size_t i = 0; i < t.rank; ++i) {
    size_t place = 0;
    for (size_t j = 0; j < t.rank; ++j) place += head[j] < head[i] ? 1 : 0;
    t.perm[i] = place;
    t.shape[place] = extent[i];
  }
  return t;
}

bool by_rows(const Transposition& t) { return t.rank < 2 || t.perm[t.rank - 1] == t.rank - 1; }

/// Whether rows can be copied as they are, or there is nothing to copy.
Fault takes_rows(const NodeSpec& node) {
  return takes(node.inputs[0].numel() == 0 || by_rows(transposition_of(node)), "rows");
}

#endif

Fault run_rows(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const auto* perm = context.attrs.as<fb::Permute>().perm();
  const Strides own = row_major(x.shape);
  Strides from;
  for (int i = 0; i < x.shape.rank(); ++i) from[i] = own[perm->Get(static_cast<unsigned>(i))];
  parallel_copy(cpu_services(context), dtype_size(x.dtype), y.shape, y.data, row_major(y.shape),
                x.data, from);
  return {};
}

#if LAZYRT_HAS_XNNPACK

Fault takes_transpose(const NodeSpec& node) {
  if (transposition_of(node).rank <= XNN_MAX_TENSOR_DIMS) return {};
  return Fault(Error::kUnsupported, "permute: too many dims");
}

Fault prepare_transpose(const PrepareContext& context, PreparedKernel* prepared) {
  const Transposition t = transposition_of(context.node);
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("permute");
  prepared->state = state;
  const size_t bytes = dtype_size(context.node.inputs[0].dtype);
  const XnnTranspose transpose = {bytes, t.rank, t.shape, t.perm};
  return prepared_or_released(prepare_xnn("permute", context, transpose, &state->op, prepared),
                              context.allocator, prepared, release_xnn);
}

Fault run_transpose(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(setup_xnn_transpose("permute: setup", op,
                                               dtype_size(context.inputs[0].dtype),
                                               context.inputs[0].data, context.outputs[0].data));
  }
  return run_xnn("permute: run", op, cpu_services(context));
}

constexpr Kernel kWays[] = {
    {takes_rows, nullptr, run_rows, nullptr},
    {takes_transpose, prepare_transpose, run_transpose, release_xnn},
};

#else

constexpr Kernel kWays[] = {{nullptr, nullptr, run_rows, nullptr}};

#endif

}  // namespace

const Kernel permute_cpu = {nullptr, nullptr, nullptr, nullptr, kWays};

}  // namespace lazyrt
