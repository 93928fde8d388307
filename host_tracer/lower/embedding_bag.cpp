#include "host_tracer/lower/embedding_bag.h"

#include <ATen/ATen.h>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/sync_ops.h"

namespace lazyrt {
namespace {

using at::Tensor;

enum Mode : int64_t { kSum, kMean, kMax };

CaptureSession& session() { return *CaptureSession::current(); }
Tensor constant(const Tensor& cpu) { return session().add_constant(cpu); }

/// Rows of the table, one for each index, and which of them count: all where that is undefined.
struct Rows {
  Tensor values;  ///< [indices, width]
  Tensor used;    ///< [indices], bool
};

Rows rows_of(const RuleArgs& a, Mode mode) {
  const Tensor indices = a.tensor("indices"), weights = a.optional_tensor("per_sample_weights");
  const int64_t padding = a.integer("padding_idx");
  Rows rows = {at::index_select(a.tensor("weight"), 0, indices), {}};
  if (weights.defined()) rows.values = rows.values * at::unsqueeze_copy(weights, 1);
  if (padding < 0) return rows;
  rows.used = at::ne(indices, padding);
  const double nothing = mode == kMax ? -std::numeric_limits<double>::infinity() : 0.0;
  rows.values = at::where(at::unsqueeze_copy(rows.used, 1), rows.values,
                          at::scalar_tensor(nothing, at::dtype(rows.values.scalar_type())));
  return rows;
}

/// The length of all bags, where the offsets are known and say that there is one; else 0.
int64_t common_length(const Tensor& offsets, int64_t bags, int64_t indices) {
  if (session().is_dynamic(offsets) || bags == 0 || indices == 0 || indices % bags != 0) return 0;
  const int64_t length = indices / bags;
  const Tensor wanted = at::arange(bags, at::kLong) * length;
  const Tensor given = session().evaluate(offsets).to(at::kLong);
  return at::equal(given.slice(0, 0, bags), wanted) ? length : 0;
}

/// What eager asks of offsets. Rows behind the last one, and offsets in no order, are served by
/// some of its ways through and not by others.
void check_offsets(const RuleArgs& a, Mode mode, const Tensor& offsets) {
  const int64_t indices = a.tensor("indices").numel(), count = offsets.size(0);
  if (count == 0) return;
  require(at::eq(at::select_copy(offsets, 0, 0), 0), "embedding_bag: the first offset must be 0");
  const Tensor last = at::select_copy(offsets, 0, count - 1);
  require(at::le(last, indices), "embedding_bag: no offset may exceed the number of indices");
  const auto expect = [](const Tensor& condition, const char* text, bool raises) {
    TORCH_CHECK(holds(session(), at::all(condition), text, /*caught=*/!raises), text);
  };
  if (a.boolean("include_last_offset"))
    expect(at::eq(last, indices), "embedding_bag: the last offset must be the number of indices",
           false);
  if (mode == kMax || count == 1) return;
  const bool raises = a.tensor("weight").scalar_type() == at::kFloat;
  expect(at::ge(at::slice_copy(offsets, 0, 1), at::slice_copy(offsets, 0, 0, count - 1)),
         "embedding_bag: the offsets must ascend", raises);
}

/// The bag of each index.
Tensor bags_of(const Tensor& offsets, int64_t bags, int64_t indices) {
  const Tensor starts = at::slice_copy(std::get<0>(at::sort(offsets, 0)), 0, 0, bags);
  const Tensor places = constant(at::arange(indices, at::kLong));
  return at::searchsorted(at::_to_copy(starts, at::kLong), places, /*out_int32=*/false,
                          /*right=*/true) -
         1;
}

Tensor zeros(at::IntArrayRef sizes, at::ScalarType type) {
  return constant(at::zeros(sizes, at::dtype(type)));
}

/// [bags, width] of rows in bags of one length.
Tensor by_length(const Tensor& rows, Mode mode, int64_t bags, int64_t length) {
  const Tensor grouped = at::view_copy(rows, {bags, length, rows.size(1)});
  return mode == kMax ? at::amax(grouped, {1}) : at::sum(grouped, {1});
}

Tensor by_bag(const Tensor& rows, Mode mode, const Tensor& bag, int64_t bags) {
  const Tensor blank = zeros({bags, rows.size(1)}, rows.scalar_type());
  if (mode != kMax) return at::index_add(blank, 0, bag, rows);
  const Tensor places = at::expand_copy(at::unsqueeze_copy(bag, 1), rows.sizes());
  return at::scatter_reduce(blank, 0, places, rows, "amax", /*include_self=*/false);
}

}  // namespace

std::vector<Tensor> embedding_bag(const RuleArgs& a) {
  const auto mode = static_cast<Mode>(a.integer("mode"));
  const Tensor offsets = a.tensor("offsets");
  const int64_t indices = a.tensor("indices").numel();
  const int64_t bags = offsets.size(0) - (a.boolean("include_last_offset") ? 1 : 0);
  TORCH_CHECK(a.tensor("weight").dim() == 2, "embedding_bag: the table must have two dims");
  const Rows rows = rows_of(a, mode);
  const int64_t length = common_length(offsets, bags, indices);
  if (length == 0) check_offsets(a, mode, offsets);
  const Tensor bag = length ? constant(at::arange(indices, at::kLong).div(length, "floor"))
                            : bags_of(offsets, bags, indices);
  const Tensor counted = rows.used.defined() ? at::_to_copy(rows.used, at::kLong)
                                             : constant(at::ones({indices}, at::kLong));
  const Tensor count = at::index_add(zeros({bags}, at::kLong), 0, bag, counted);
  Tensor out =
      length ? by_length(rows.values, mode, bags, length) : by_bag(rows.values, mode, bag, bags);
  if (mode == kMean) {
    const Tensor divisor = at::_to_copy(at::clamp_min(count, 1), out.scalar_type());
    out = at::div(out, at::unsqueeze_copy(divisor, 1));
  } else if (mode == kMax && rows.used.defined()) {
    const Tensor blank = at::scalar_tensor(0.0, at::dtype(out.scalar_type()));
    out = at::where(at::unsqueeze_copy(at::gt(count, 0), 1), out, blank);
  }
  return {out, bag, count, zeros({0}, at::kLong)};
}

}  // namespace lazyrt
