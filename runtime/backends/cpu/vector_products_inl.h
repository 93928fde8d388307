// Small products and the transforms of Winograd convolution, for one instruction set. Included by
// vector_ops_inl.h, whose rules hold here too.

// Vectors in a row of a `gemm` panel, and how many rows are summed at once, as registers allow.
constexpr size_t kPanelVectors = kGemmPanel / hn::MaxLanes(D());
constexpr size_t kGemmRows = kPanelVectors == 1                       ? 12
                             : kPanelVectors == 2 || HWY_ARCH_ARM_A64 ? 6
                                                                      : 2;
static_assert(kGemmRowsMultiple % kGemmRows == 0, "rows in groups");

// Stores the vector at column `at` of a row of `columns`.
HWY_INLINE void store_columns(V v, float* row, size_t columns, size_t at) {
  if (at + hn::Lanes(D()) <= columns) return store(v, row + at);
  if (at < columns) store_tail(v, row + at, columns - at);
}

// kWhole: the panel has all of its columns.
template <size_t kRows, bool kWhole>
HWY_INLINE void gemm_rows(const GemmTile& t, size_t first) {
  constexpr size_t kLanes = kGemmPanel / kPanelVectors;
  float* c = t.c + first * t.ldc;
  V sums[kRows][kPanelVectors];
  for (size_t i = 0; i < kPanelVectors; ++i) {
    const V start = t.bias == nullptr ? hn::Zero(D()) : load(t.bias + i * kLanes);
    for (size_t r = 0; r < kRows; ++r) sums[r][i] = start;
  }
  const float* a = t.a + first * t.lda;
  const float* panel = t.panel;
  for (size_t k = 0; k < t.k; ++k, panel += kGemmPanel) {
    V b[kPanelVectors];
    for (size_t i = 0; i < kPanelVectors; ++i) b[i] = load(panel + i * kLanes);
    for (size_t r = 0; r < kRows; ++r) {
      const V x = set1(a[r * t.lda + k]);
      for (size_t i = 0; i < kPanelVectors; ++i) sums[r][i] = hn::MulAdd(x, b[i], sums[r][i]);
    }
  }
  if (t.clamped) {
    const V low = set1(t.low), high = set1(t.high);
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t i = 0; i < kPanelVectors; ++i) sums[r][i] = clamp(sums[r][i], low, high);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t i = 0; i < kPanelVectors; ++i) {
      const size_t at = i * kLanes;
      if (kWhole) {
        store(sums[r][i], c + r * t.ldc + at);
      } else {
        store_columns(sums[r][i], c + r * t.ldc, t.columns, at);
      }
    }
  }
}

// The last rows, fewer than kGemmRows.
template <size_t kRows, bool kWhole>
HWY_INLINE void gemm_rest(const GemmTile& t, size_t first) {
  if (t.rows - first == kRows) return gemm_rows<kRows, kWhole>(t, first);
  if constexpr (kRows > 1) gemm_rest<kRows - 1, kWhole>(t, first);
}

template <bool kWhole>
void gemm_tile(const GemmTile& tile) {
  size_t first = 0;
  for (; first + kGemmRows <= tile.rows; first += kGemmRows) {
    gemm_rows<kGemmRows, kWhole>(tile, first);
  }
  if (first < tile.rows) gemm_rest<kGemmRows - 1, kWhole>(tile, first);
}

void gemm(const GemmTile& tile) {
  if (tile.columns == kGemmPanel) return gemm_tile<true>(tile);
  gemm_tile<false>(tile);
}

// Winograd F(4x4, 3x3) at the points 0, +-kWinogradA, +-kWinogradB and infinity.
constexpr float kWinogradA2 = kWinogradA * kWinogradA, kWinogradB2 = kWinogradB * kWinogradB;

// Evaluates three taps at the points, each divided by the product of that point's distances to the
// others.
HWY_INLINE void winograd_taps(const V (&g)[3], V (&u)[6]) {
  constexpr float kAtA = 1.0f / (2.0f * kWinogradA2 * (kWinogradA2 - kWinogradB2));
  constexpr float kAtB = 1.0f / (2.0f * kWinogradB2 * (kWinogradB2 - kWinogradA2));
  const V even_a = hn::Mul(set1(kAtA), hn::MulAdd(set1(kWinogradA2), g[2], g[0]));
  const V odd_a = hn::Mul(set1(kAtA * kWinogradA), g[1]);
  const V even_b = hn::Mul(set1(kAtB), hn::MulAdd(set1(kWinogradB2), g[2], g[0]));
  const V odd_b = hn::Mul(set1(kAtB * kWinogradB), g[1]);
  u[0] = hn::Mul(set1(1.0f / (kWinogradA2 * kWinogradB2)), g[0]);
  u[1] = hn::Add(even_a, odd_a);
  u[2] = hn::Sub(even_a, odd_a);
  u[3] = hn::Add(even_b, odd_b);
  u[4] = hn::Sub(even_b, odd_b);
  u[5] = g[2];
}

void winograd_filters(const float* g, float* u, size_t stride) {
  constexpr size_t kLanes = kGemmPanel / kPanelVectors;
  for (size_t i = 0; i < kGemmPanel; i += kLanes) {
    V t[6][3];
    for (size_t column = 0; column < 3; ++column) {
      V taps[3], values[6];
      for (size_t row = 0; row < 3; ++row)
        taps[row] = load(g + (row * 3 + column) * kGemmPanel + i);
      winograd_taps(taps, values);
      for (size_t row = 0; row < 6; ++row) t[row][column] = values[row];
    }
    for (size_t row = 0; row < 6; ++row) {
      V values[6];
      winograd_taps(t[row], values);
      for (size_t p = 0; p < 6; ++p) store(values[p], u + (row * 6 + p) * stride + i);
    }
  }
}

// x becomes its values at the points.
HWY_INLINE void winograd_points(V (&x)[6]) {
  const V a = set1(kWinogradA), b = set1(kWinogradB);
  const V a2 = set1(kWinogradA2), b2 = set1(kWinogradB2);
  const V product = set1(kWinogradA2 * kWinogradB2), sum = set1(kWinogradA2 + kWinogradB2);
  const V even_a = hn::NegMulAdd(b2, x[2], x[4]), odd_a = hn::NegMulAdd(b2, x[1], x[3]);
  const V even_b = hn::NegMulAdd(a2, x[2], x[4]), odd_b = hn::NegMulAdd(a2, x[1], x[3]);
  x[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
  x[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
  x[1] = hn::MulAdd(a, odd_a, even_a);
  x[2] = hn::NegMulAdd(a, odd_a, even_a);
  x[3] = hn::MulAdd(b, odd_b, even_b);
  x[4] = hn::NegMulAdd(b, odd_b, even_b);
}

// Turns values at the points into four outputs, y[0] to y[3].
HWY_INLINE void winograd_values(const V (&m)[6], V (&y)[4]) {
  const V sum_a = hn::Add(m[1], m[2]), difference_a = hn::Sub(m[1], m[2]);
  const V sum_b = hn::Add(m[3], m[4]), difference_b = hn::Sub(m[3], m[4]);
  y[0] = hn::Add(hn::Add(m[0], sum_a), sum_b);
  y[1] = hn::MulAdd(set1(kWinogradB), difference_b, hn::Mul(set1(kWinogradA), difference_a));
  y[2] = hn::MulAdd(set1(kWinogradB2), sum_b, hn::Mul(set1(kWinogradA2), sum_a));
  y[3] = hn::MulAdd(set1(kWinogradB2 * kWinogradB), difference_b,
                    hn::MulAdd(set1(kWinogradA2 * kWinogradA), difference_a, m[5]));
}

template <class Load, class Store>
HWY_INLINE void winograd_input_vector(Load load_at, Store store_at) {
  V t[6][6];
  for (size_t column = 0; column < 6; ++column) {
    V x[6];
    for (size_t row = 0; row < 6; ++row) x[row] = load_at(row * 6 + column);
    winograd_points(x);
    for (size_t row = 0; row < 6; ++row) t[row][column] = x[row];
  }
  for (size_t row = 0; row < 6; ++row) {
    winograd_points(t[row]);
    for (size_t column = 0; column < 6; ++column) store_at(row * 6 + column, t[row][column]);
  }
}

void winograd_input(const float* const* x, float* v, size_t stride, size_t n) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    winograd_input_vector([=](size_t at) HWY_ATTR { return load(x[at] + i); },
                          [=](size_t at, V y) HWY_ATTR { store(y, v + at * stride + i); });
  }
  if (i == n) return;
  winograd_input_vector([=](size_t at) HWY_ATTR { return load_tail(x[at] + i, n - i, 0.0f); },
                        [=](size_t at, V y)
                            HWY_ATTR { store_tail(y, v + at * stride + i, n - i); });
}

// m has whole vectors; bias and y need not.
template <class Store>
HWY_INLINE void winograd_output_vector(const float* m, size_t stride, V bias, V lo, V hi,
                                       Store store_at) {
  V t[4][6];
  for (size_t column = 0; column < 6; ++column) {
    V values[6], y[4];
    for (size_t row = 0; row < 6; ++row) values[row] = load(m + (row * 6 + column) * stride);
    winograd_values(values, y);
    for (size_t row = 0; row < 4; ++row) t[row][column] = y[row];
  }
  for (size_t row = 0; row < 4; ++row) {
    V y[4];
    winograd_values(t[row], y);
    for (size_t column = 0; column < 4; ++column) {
      store_at(row * 4 + column, clamp(hn::Add(y[column], bias), lo, hi));
    }
  }
}

void winograd_output(const float* m, size_t stride, const float* bias, float lo, float hi,
                     float* const* y, size_t n) {
  const size_t lanes = hn::Lanes(D());
  const V low = set1(lo), high = set1(hi);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V b = bias == nullptr ? hn::Zero(D()) : load(bias + i);
    winograd_output_vector(m + i, stride, b, low, high, [=](size_t at, V value) HWY_ATTR {
      if (y[at] != nullptr) store(value, y[at] + i);
    });
  }
  if (i == n) return;
  const V b = bias == nullptr ? hn::Zero(D()) : load_tail(bias + i, n - i, 0.0f);
  winograd_output_vector(m + i, stride, b, low, high, [=](size_t at, V value) HWY_ATTR {
    if (y[at] != nullptr) store_tail(value, y[at] + i, n - i);
  });
}
