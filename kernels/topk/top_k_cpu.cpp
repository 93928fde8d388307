// The k largest or smallest: each element becomes an integer that holds its place in the order and
// its index, so that comparing two of them reads nothing else. Rows are shared by the threads.

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"
#include "kernels/topk/select.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel top_k_cpu;

namespace {

using TopKTypes = Types<float, int64_t, int32_t>;

/// An entry for elements of four bytes: the place in the upper half, the index in the lower half.
struct Packed {
  static Packed make(uint32_t place, uint32_t index) { return {uint64_t{place} << 32 | index}; }
  int64_t index() const { return static_cast<int64_t>(bits & UINT32_MAX); }
  bool operator<(const Packed& other) const { return bits < other.bits; }

  uint64_t bits;
};

/// An entry for elements of eight bytes.
struct Pair {
  static Pair make(uint64_t place, uint32_t index) { return {place, index}; }
  int64_t index() const { return at; }
  bool operator<(const Pair& other) const {
    return place != other.place ? place < other.place : at < other.at;
  }

  uint64_t place;
  uint32_t at;
};

template <class T>
using EntryOf = std::conditional_t<sizeof(T) == 4, Packed, Pair>;

/// Integers in the order of the elements. All NaNs are the largest one, both zeros are equal.
uint32_t ordered(float x) {
  if (std::isnan(x)) return UINT32_MAX;
  const uint32_t bits = float_bits(x + 0.0f);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
uint32_t ordered(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
uint64_t ordered(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  if (x.shape[node.attrs.as<fb::TopK>().axis()] > int64_t{UINT32_MAX})
    return Fault(Error::kUnsupported, "top_k: rows of more than 2^32 elements");
  return visit_dtype(TopKTypes{}, x.dtype, [](auto) { return Fault(); });
}

size_t row_bytes(const TensorSpec& x, int axis) {
  const size_t entry = dtype_size(x.dtype) == 4 ? sizeof(Packed) : sizeof(Pair);
  return (static_cast<size_t>(x.shape[axis]) * entry + kAlignment - 1) / kAlignment * kAlignment;
}

/// The workspace is the entries of one row for each thread.
Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& x = context.node.inputs[0];
  if (x.shape.numel() == 0) return {};
  const auto threads = static_cast<size_t>(cpu_services(context).threads);
  prepared->workspace_bytes = row_bytes(x, context.node.attrs.as<fb::TopK>().axis()) * threads;
  return {};
}

/// Even without `sorted`, ATen sorts if at most one in kFew elements is wanted (TopKImpl.h).
constexpr int64_t kFew = 64;
/// If fewer than one in kHeap elements is wanted, a heap of these is faster than sorting all.
constexpr int64_t kHeap = 8;

template <class Entry>
void put_first(Entry* entries, int64_t extent, int64_t k, bool is_sorted) {
  if (!is_sorted && k > extent / kFew) {
    top_k::select(entries, entries + extent, k - 1,
                  [](const Entry& a, const Entry& b) { return a < b; });
  } else if (k < extent / kHeap) {
    std::partial_sort(entries, entries + k, entries + extent);
  } else {
    std::sort(entries, entries + extent);
  }
}

template <class T>
void run_row(const RunContext& context, const AxisView& v, int64_t row, EntryOf<T>* entries) {
  const auto& a = context.attrs.as<fb::TopK>();
  const int64_t outer = row / v.inner, inner = row % v.inner;
  const T* x = context.inputs[0].as<const T>() + outer * v.extent * v.inner + inner;
  using Place = decltype(ordered(T()));
  const Place flip = a.largest() ? ~Place{0} : 0;
  for (int64_t i = 0; i < v.extent; ++i) {
    entries[i] = EntryOf<T>::make(ordered(x[i * v.inner]) ^ flip, static_cast<uint32_t>(i));
  }
  put_first(entries, v.extent, a.k(), a.sorted());
  const int64_t first = outer * a.k() * v.inner + inner;
  T* values = context.outputs[0].as<T>() + first;
  int64_t* indices = context.outputs[1].as<int64_t>() + first;
  for (int64_t i = 0; i < a.k(); ++i) {
    const int64_t index = entries[i].index();
    values[i * v.inner] = x[index * v.inner];
    indices[i * v.inner] = index;
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const int axis = context.attrs.as<fb::TopK>().axis();
  const AxisView v = axis_view(x.shape, axis);
  const size_t bytes = row_bytes({x.dtype, x.shape, nullptr}, axis);
  const auto rows = static_cast<size_t>(v.outer * v.inner);
  const size_t piece = grain_of(static_cast<size_t>(v.extent) * 16);
  parallel_items(
      cpu_services(context), (rows + piece - 1) / piece, [&](size_t thread, size_t item) {
        auto* entries =
            reinterpret_cast<EntryOf<T>*>(static_cast<char*>(context.workspace) + thread * bytes);
        const size_t last = std::min(rows, (item + 1) * piece);
        for (size_t row = item * piece; row < last; ++row) {
          run_row<T>(context, v, static_cast<int64_t>(row), entries);
        }
      });
  return {};
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(TopKTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const Kernel top_k_cpu = {supports, prepare, run, nullptr};

}  // namespace lazyrt
