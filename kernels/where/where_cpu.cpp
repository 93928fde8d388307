// condition ? a : b, elementwise with broadcasting, on all threads.

#include "kernels/common/element.h"
#include "kernels/where/where_loops.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel where_cpu;

namespace {

/// Elements of four bytes are moved as floats, whose bits a selection does not change.
template <class T>
void select_row(const VectorOps& vector, const Bool* condition, const T* yes, const T* no, T* out,
                int64_t n, const int64_t* step) {
  if (sizeof(T) == sizeof(float) && step[1] == 1) {
    vector.select(reinterpret_cast<const uint8_t*>(condition), reinterpret_cast<const float*>(yes),
                  static_cast<size_t>(step[2]), reinterpret_cast<const float*>(no),
                  static_cast<size_t>(step[3]), reinterpret_cast<float*>(out),
                  static_cast<size_t>(n));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] = condition[i * step[1]] ? yes[i * step[2]] : no[i * step[3]];
  }
}

template <class T>
void select(const RunContext& context) {
  const TensorView& c = context.inputs[0];
  const TensorView& a = context.inputs[1];
  const TensorView& b = context.inputs[2];
  const TensorView& y = context.outputs[0];
  const LoopNest<4> loops = where_loops(context);
  const VectorOps& vector = *cpu_services(context).vector;
  const auto piece = [&](size_t begin, size_t end) {
    loops.for_rows(static_cast<int64_t>(begin), static_cast<int64_t>(end),
                   [&](const int64_t* offset, int64_t count, const int64_t* step) {
                     select_row(vector, c.as<const Bool>() + offset[1], a.as<const T>() + offset[2],
                                b.as<const T>() + offset[3], y.as<T>() + offset[0], count, step);
                   });
  };
  parallel_for(cpu_services(context), static_cast<size_t>(loops.rows()),
               grain_of(static_cast<size_t>(loops.row_length()) * 2), piece);
}

Fault run(void*, const RunContext& context) {
  return visit_element_size(dtype_size(context.outputs[0].dtype), [&](auto type) {
    select<typename decltype(type)::type>(context);
    return Fault();
  });
}

}  // namespace

const Kernel where_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
