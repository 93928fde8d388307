// Elementwise functions of two operands: float32 arithmetic in vectors; comparisons, logic and
// integer arithmetic as plain rows; everything else is left to the reference.

#include "kernels/binary/binary_rows.h"
#include "kernels/binary/scalar_forms.h"
#include "kernels/common/strides.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel binary_cpu;

namespace {

using Fn = fb::BinaryFn;

/// A row with steps of 0 or 1 for a and b.
using Row = void (*)(const void* a, int64_t step_a, const void* b, int64_t step_b, void* y,
                     int64_t n);

template <class T, class R, class F>
void row_of(const void* a, int64_t step_a, const void* b, int64_t step_b, void* y, int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* w = static_cast<const T*>(b);
  R* out = static_cast<R*>(y);
  if (step_a == 1 && step_b == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = F::f(x[i], w[i]);
  } else if (step_a == 1) {
    const T c = *w;
    for (int64_t i = 0; i < n; ++i) out[i] = F::f(x[i], c);
  } else {
    const T c = *x;
    for (int64_t i = 0; i < n; ++i) out[i] = F::f(c, w[i * step_b]);
  }
}

/// nullptr if F does not take T or is not kept for T.
template <class T, class F>
constexpr Row find_row() {
  if constexpr (kTakes<F, T> && keeps(kDTypeOf<T>, kept_types_of(F::kNumber)))
    return row_of<T, typename F::template Result<T>, F>;
  return nullptr;
}

template <class T>
Row row_for(Fn fn) {
  switch (fn) {
#define LAZYRT_BINARY(number, Name, ...) \
  case Fn::Name:                         \
    return find_row<T, binary_functions::Name>();
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
  }
  return nullptr;
}

Row plain_row(DType dtype, Fn fn) {
  switch (dtype) {
    case DType::kFloat32:
      return row_for<float>(fn);
    case DType::kInt32:
      return row_for<int32_t>(fn);
    case DType::kInt64:
      return row_for<int64_t>(fn);
    case DType::kBool:
      return row_for<Bool>(fn);
    default:
      return nullptr;
  }
}

const BinaryRows* vector_rows(VectorIsa isa, DType dtype, Fn fn) {
  const BinaryRows& rows = LAZYRT_OF_ISA(isa, kBinaryRows).at[static_cast<size_t>(fn)];
  return dtype == DType::kFloat32 && rows.vector_vector != nullptr ? &rows : nullptr;
}

Fault supports(const NodeSpec& node) {
  const Fn fn = node.attrs.as<fb::Binary>().fn();
  const DType dtype = node.inputs[0].dtype;
  if (plain_row(dtype, fn) != nullptr) return {};
  return Fault(Error::kUnsupported, "%s of %s has no cpu form", fb::EnumNameBinaryFn(fn),
               dtype_name(dtype));
}

/// One row of the loop nest, by whichever routine this function and type have.
struct RowRunner {
  const BinaryRows* vector;
  Row plain;
  const char* a;
  const char* b;
  char* y;
  int64_t in_bytes;
  int64_t out_bytes;

  void operator()(const int64_t* offset, const int64_t* step, int64_t from, int64_t count) const {
    const char* left = a + (offset[1] + from * step[1]) * in_bytes;
    const char* right = b + (offset[2] + from * step[2]) * in_bytes;
    char* out = y + (offset[0] + from) * out_bytes;
    if (vector == nullptr) return plain(left, step[1], right, step[2], out, count);
    const auto* x = reinterpret_cast<const float*>(left);
    const auto* w = reinterpret_cast<const float*>(right);
    const BinaryRow row = step[1] == step[2] ? vector->vector_vector
                          : step[1] == 1     ? vector->vector_scalar
                                             : vector->scalar_vector;
    row(x, w, reinterpret_cast<float*>(out), static_cast<size_t>(count));
  }
};

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const Fn fn = context.attrs.as<fb::Binary>().fn();
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (a.dtype == DType::kInt64) LAZYRT_RETURN_IF_ERROR(check_divisors<int64_t>(fn, context));
  if (a.dtype == DType::kInt32) LAZYRT_RETURN_IF_ERROR(check_divisors<int32_t>(fn, context));
  const RowRunner runner = {vector_rows(cpu.vector->kind, a.dtype, fn),
                            plain_row(a.dtype, fn),
                            a.as<const char>(),
                            b.as<const char>(),
                            y.as<char>(),
                            static_cast<int64_t>(dtype_size(a.dtype)),
                            static_cast<int64_t>(dtype_size(y.dtype))};
  const LoopNest<3> loops(y.shape, {row_major(y.shape), broadcast_strides(a.shape, y.shape),
                                    broadcast_strides(b.shape, y.shape)});
  const auto length = static_cast<size_t>(loops.row_length());
  if (loops.rows() == 1) {
    loops.for_rows(0, 1, [&](const int64_t* offset, int64_t, const int64_t* step) {
      parallel_for(cpu, length, grain_of(1), [&](size_t begin, size_t end) {
        runner(offset, step, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin));
      });
    });
    return {};
  }
  parallel_for(cpu, static_cast<size_t>(loops.rows()), grain_of(length),
               [&](size_t begin, size_t end) {
                 loops.for_rows(static_cast<int64_t>(begin), static_cast<int64_t>(end),
                                [&](const int64_t* offset, int64_t count, const int64_t* step) {
                                  runner(offset, step, 0, count);
                                });
               });
  return {};
}

}  // namespace

const Kernel binary_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
