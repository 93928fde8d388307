#include "lazyrt/shape.h"

#include <cinttypes>
#include <cstdio>

namespace lazyrt {

#if LAZYRT_MESSAGES
ShapeText shape_text(const Shape& shape) {
  ShapeText out;
  size_t n = 0;
  out.text[n++] = '[';
  for (int i = 0; i < shape.rank(); ++i) {
    n += static_cast<size_t>(
        snprintf(out.text + n, sizeof(out.text) - n, i == 0 ? "%" PRId64 : ",%" PRId64, shape[i]));
  }
  out.text[n++] = ']';
  out.text[n] = '\0';
  return out;
}
#endif

#if UINTPTR_MAX <= UINT32_MAX
bool product_overflows(uint64_t a, uint64_t b, uint64_t* product) {
  return __builtin_mul_overflow(a, b, product);
}
#endif

bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  *out = Shape();
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) return false;
    out->append(da == 1 ? db : da);
  }
  return true;
}

}  // namespace lazyrt
