#pragma once

// The product of all steps' inputs with constant weights, for gru and lstm: XNNPACK's fully
// connected layer or, without XNNPACK, our gemm.

#include "runtime/backends/cpu/gemm_panels.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_op.h"
#endif

namespace lazyrt {

/// y [rows, outputs] = x [rows, inputs] w^T + b.
struct InputProduct {
#if LAZYRT_HAS_XNNPACK
  xnn_operator_t op = nullptr;
#else
  size_t rows = 0;
  GemmPanels panels;
#endif
};

/// `weights` is [outputs][inputs]; `bias` may be null.
inline Fault prepare_input_product(Word call, const PrepareContext& context, size_t rows,
                                   size_t inputs, size_t outputs, const float* weights,
                                   const float* bias, InputProduct* product,
                                   PreparedKernel* prepared) {
#if LAZYRT_HAS_XNNPACK
  const XnnFullyConnected layer = {rows, inputs, outputs, outputs, weights, bias};
  return prepare_xnn(call, context, layer, &product->op, prepared);
#else
  PackingTag tag = {Packer::kRowPanels};
  tag.add(static_cast<int64_t>(inputs * outputs)).add(static_cast<int64_t>(outputs));
  const CpuServices& cpu = cpu_services(context);
  WeightStore::Packing packing(cpu.weights, tag, inputs * outputs * sizeof(float), cpu.memory);
  product->rows = rows;
  if (!pack_gemm(&packing, weights, bias, inputs, outputs, &product->panels)) {
    return no_memory(call);
  }
  prepared->packed_weight_bytes += packing.new_bytes();
  return {};
#endif
}

/// Where x and y are, until told anew.
inline Fault bind_input_product(Word call, const InputProduct& product, const float* x, float* y) {
#if LAZYRT_HAS_XNNPACK
  return setup_xnn_fully_connected(call, product.op, x, y);
#else
  (void)call, (void)product, (void)x, (void)y;
  return {};
#endif
}

/// REQUIRES: bound to this x and y.
inline Fault run_input_product(Word call, const InputProduct& product, const CpuServices& cpu,
                               const float* x, float* y) {
#if LAZYRT_HAS_XNNPACK
  (void)x, (void)y;
  return run_xnn(call, product.op, cpu);
#else
  (void)call;
  const GemmPanels& panels = product.panels;
  run_gemm(cpu, panels, {x, panels.k, product.rows, y, panels.columns, -HUGE_VALF, HUGE_VALF});
  return {};
#endif
}

inline void release_input_product(const InputProduct& product) {
#if LAZYRT_HAS_XNNPACK
  release_xnn_op(product.op);
#else
  (void)product;
#endif
}

}  // namespace lazyrt
