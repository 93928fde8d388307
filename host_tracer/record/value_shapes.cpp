#include "host_tracer/record/value_shapes.h"

#include <ATen/ATen.h>

#include <unordered_set>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/op_args.h"
#include "host_tracer/record/sync_ops.h"

namespace lazyrt {
namespace {

using IndexList = c10::List<std::optional<at::Tensor>>;
using Sizes = std::vector<int64_t>;

bool is_mask(const at::Tensor& t) {
  return t.scalar_type() == at::kBool || t.scalar_type() == at::kByte;
}

ResultShape known_shape(at::ScalarType type, const Sizes& sizes) {
  ResultShape result;
  result.tensors.emplace_back(torch::lazy::Shape(type, sizes));
  return result;
}

at::Tensor as_lazy(CaptureSession& session, const at::Tensor& t) {
  return is_lazy(t) ? t : make_lazy(session.operand_value(t));
}

IndexList as_lazy(CaptureSession& session, const IndexList& indices) {
  IndexList result;
  for (const std::optional<at::Tensor>& index : indices) {
    const bool defined = index && index->defined();
    result.push_back(defined ? std::optional(as_lazy(session, *index)) : std::nullopt);
  }
  return result;
}

/// Rows of indices of the true elements: [count, rank], the count as seen.
at::Tensor nonzero(CaptureSession& session, const at::Tensor& self) {
  if (!session.is_dynamic(self)) {
    return session.add_constant(at::nonzero(session.evaluate(self)));
  }
  at::Tensor& known = session.places_of(session.operand_value(self), /*flat=*/false);
  if (known.defined()) return known;
  const at::Tensor mask = self.scalar_type() == at::kBool ? self : at::ne(self, 0);
  const int64_t count = sync_count(session, at::sum(mask), "nonzero",
                                   "count of true elements of " + session.operand_text(self));
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::nonzero", "");
  torch::jit::Stack stack;
  session.add_node(op, {self}, {known_shape(at::kLong, {count, self.dim()})}, &stack);
  known = stack.back().toTensor();
  return known;
}

/// The true elements' places in the flattened mask: [count].
at::Tensor flat_nonzero(CaptureSession& session, const at::Tensor& mask) {
  at::Tensor& known = session.places_of(session.operand_value(mask), /*flat=*/true);
  if (known.defined()) return known;
  const at::Tensor rows = nonzero(session, at::view_copy(mask, {mask.numel()}));
  known = at::view_copy(rows, {rows.size(0)});
  return known;
}

at::Tensor masked_select(CaptureSession& session, const at::Tensor& self, const at::Tensor& mask) {
  const Sizes sizes = at::infer_size(self.sizes(), mask.sizes());
  at::Tensor x = self, m = mask;
  if (x.sizes() != sizes) x = at::expand_copy(x, sizes);
  if (m.sizes() != sizes) m = at::expand_copy(m, sizes);
  return at::index_select(at::view_copy(x, {x.numel()}), 0, flat_nonzero(session, m));
}

/// Indices that are one mask, from dim `dim` on.
struct OneMask {
  at::Tensor mask;  ///< undefined: there are other indices, too
  int64_t dim = 0;
};

OneMask find_one_mask(const IndexList& indices) {
  OneMask found;
  for (const std::optional<at::Tensor>& item : indices) {
    if (!item || !item->defined()) {
      if (!found.mask.defined()) ++found.dim;
    } else if (is_mask(*item) && item->dim() > 0 && !found.mask.defined()) {
      found.mask = *item;
    } else {
      return {};
    }
  }
  return found;
}

/// x with the masked dims taken together.
at::Tensor merged(const at::Tensor& self, const OneMask& one) {
  const at::IntArrayRef sizes = self.sizes(), masked = one.mask.sizes();
  const auto first = static_cast<size_t>(one.dim), last = first + masked.size();
  TORCH_CHECK(last <= sizes.size() && sizes.slice(first, masked.size()) == masked,
              "a mask of shape ", masked, " does not fit dim ", one.dim, " of ", sizes);
  Sizes to = sizes.slice(0, first).vec();
  to.push_back(one.mask.numel());
  to.insert(to.end(), sizes.begin() + static_cast<std::ptrdiff_t>(last), sizes.end());
  return at::view_copy(self, to);
}

/// Masks become one index tensor for each of their dims.
IndexList without_masks(CaptureSession& session, const IndexList& indices) {
  IndexList result;
  for (const std::optional<at::Tensor>& index : indices) {
    if (!index || !index->defined() || !is_mask(*index)) {
      result.push_back(index);
      continue;
    }
    const at::Tensor rows = nonzero(session, *index);
    for (int64_t d = 0; d < index->dim(); ++d) {
      // Constants are cut on the CPU, so that they stay constants.
      const at::Tensor column = session.is_dynamic(rows)
                                    ? at::select_copy(rows, 1, d)
                                    : session.add_constant(session.evaluate(rows).select(1, d));
      result.push_back(column);
    }
  }
  return result;
}

int masks_among(const IndexList& indices) {
  int masks = 0;
  for (const std::optional<at::Tensor>& index : indices) {
    if (index && index->defined() && is_mask(*index)) ++masks;
  }
  return masks;
}

at::Tensor index(CaptureSession& session, const at::Tensor& self, const IndexList& indices) {
  const OneMask one = find_one_mask(indices);
  if (!one.mask.defined()) return at::index(self, without_masks(session, indices));
  return at::index_select(merged(self, one), one.dim, flat_nonzero(session, one.mask));
}

at::Tensor index_put(CaptureSession& session, const at::Tensor& self, const IndexList& indices,
                     const at::Tensor& values, bool accumulate) {
  const OneMask one = find_one_mask(indices);
  if (!one.mask.defined()) {
    return at::index_put(self, without_masks(session, indices), values, accumulate);
  }
  IndexList places;
  for (int64_t d = 0; d < one.dim; ++d) places.push_back(std::nullopt);
  places.push_back(flat_nonzero(session, one.mask));
  const at::Tensor written = at::index_put(merged(self, one), places, values, accumulate);
  return at::view_copy(written, self.sizes());
}

/// x[mask] = value, if nothing depends on the count of true elements: becomes a where, for any
/// mask.
bool is_plain_fill(const at::Tensor& self, const IndexList& indices, const at::Tensor& values) {
  if (indices.size() != 1) return false;
  const std::optional<at::Tensor> mask = indices.get(0);
  if (!mask || mask->scalar_type() != at::kBool) return false;
  const int64_t rest = self.dim() - mask->dim();
  return values.dim() <= rest || (values.dim() == rest + 1 && values.size(0) == 1);
}

/// Which element of `repeats` each of the repeated ones comes from: [sum of repeats].
at::Tensor repeat_interleave(CaptureSession& session, const at::Tensor& repeats) {
  if (!session.is_dynamic(repeats)) {
    return session.add_constant(at::repeat_interleave(session.evaluate(repeats)));
  }
  require(at::all(at::ge(repeats, 0)), "repeat_interleave: repeats can not be negative");
  const int64_t count = sync_count(session, at::sum(repeats), "repeat_interleave",
                                   "sum of " + session.operand_text(repeats));
  const at::Tensor ends = at::cumsum(repeats, 0, at::kLong);
  const at::Tensor places = session.add_constant(at::arange(count, at::kLong));
  const at::Tensor from = at::searchsorted(ends, places, /*out_int32=*/false, /*right=*/true);
  return at::clamp(from, 0, std::max<int64_t>(repeats.numel() - 1, 0));
}

/// The rows of sequences, one step after the other: as many as have that step, and their number.
/// The lengths are read on the host, since all later shapes depend on them.
void pack_padded_sequence(CaptureSession& session, const at::Tensor& self,
                          const at::Tensor& lengths, bool batch_first, torch::jit::Stack* stack) {
  const at::Tensor known =
      is_lazy(lengths) ? at::_to_copy(lengths, at::TensorOptions().device(at::kCPU)) : lengths;
  TORCH_CHECK(self.dim() >= 2, "a batch of sequences has two dims and more");
  Sizes sizes = self.sizes().vec();
  const int64_t rows = sizes[0] * sizes[1];
  const at::Tensor places = at::arange(rows, at::kLong).reshape({sizes[0], sizes[1]});
  const auto [packed, batch_sizes] = at::_pack_padded_sequence(places, known, batch_first);
  sizes.erase(sizes.begin());
  sizes[0] = rows;
  const at::Tensor flat = at::view_copy(self, sizes);
  stack->push_back(at::index_select(flat, 0, session.add_constant(packed)));
  stack->push_back(batch_sizes);
}

/// How often each number below `least` occurs, or the sum of its weights. Undefined if some numbers
/// are not below it, so that the result is longer.
at::Tensor bincount(CaptureSession& session, const at::Tensor& ids, const at::Tensor& weights,
                    int64_t least) {
  if (!session.is_dynamic(ids) || least <= 0 || ids.dim() != 1 || ids.numel() == 0) return {};
  const auto expect = [&](const at::Tensor& each, const std::string& text, bool caught) {
    return holds(session, at::all(each), "bincount: " + text, caught);
  };
  const auto& is_caught = session.request().is_caught;
  TORCH_CHECK(expect(at::ge(ids, 0), "no number is negative", is_caught && is_caught()),
              "bincount of negative numbers");
  const std::string below = "each number is below minlength, " + std::to_string(least);
  if (!expect(at::lt(ids, least), below, /*caught=*/true)) return {};
  const bool whole = !weights.defined();
  const bool narrow = !whole && weights.scalar_type() == at::kFloat;
  const auto type = whole ? at::kLong : narrow ? at::kFloat : at::kDouble;
  const at::Tensor added = whole ? session.add_constant(at::ones({ids.numel()}, at::kLong))
                                 : at::_to_copy(weights, type);
  const at::Tensor none = session.add_constant(at::zeros({least}, at::dtype(type)));
  return at::index_add(none, 0, at::_to_copy(ids, at::kLong), added);
}

/// Operators whose results' shapes depend on values, with no form of known size.
const std::unordered_set<std::string>& opaque_ops() {
  static const std::unordered_set<std::string> names = {
      "aten::_unique",    "aten::_unique2",           "aten::bincount",
      "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive",
  };
  return names;
}

struct Dependence {
  bool inputs = false;
  bool anything = false;
};

Dependence dependence(CaptureSession& session, std::vector<c10::IValue>& args) {
  Dependence found;
  for (c10::IValue& arg : args) {
    map_tensors(arg, [&](const at::Tensor& t) {
      found.inputs = found.inputs || depends_on_input(session.operand_value(t).node.get());
      found.anything = found.anything || session.is_dynamic(t);
      return t;
    });
  }
  return found;
}

std::vector<at::Tensor> run_on_values(CaptureSession& session, const c10::OperatorHandle& op,
                                      std::vector<c10::IValue> args) {
  torch::jit::Stack stack;
  for (c10::IValue& arg : args) {
    map_tensors(arg, [&](const at::Tensor& t) { return session.evaluate(t); });
    stack.push_back(arg);
  }
  op.callBoxed(stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue& value : stack) results.push_back(value.toTensor());
  return results;
}

void opaque(CaptureSession& session, const c10::OperatorHandle& op, std::vector<c10::IValue> args,
            torch::jit::Stack* stack) {
  const Dependence on = dependence(session, args);
  const auto compute = [&] { return run_on_values(session, op, args); };
  std::vector<at::Tensor> results;
  if (on.anything) {
    SyncRecord record;
    record.kind = SyncKind::kOpaque;
    record.what = op.operator_name().name;
    record.text = record.what;
    record.source = current_source();
    record.of_inputs = on.inputs;
    results = session.log().sync(std::move(record), compute);
  } else {
    results = compute();
  }
  for (const at::Tensor& t : results) stack->push_back(session.add_constant(t.contiguous()));
}

}  // namespace

bool record_value_shaped(CaptureSession& session, const c10::OperatorHandle& op,
                         torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  const size_t count = op.schema().arguments().size();
  const auto arg = [&](size_t i) -> const c10::IValue& {
    return torch::jit::peek(*stack, i, count);
  };
  const auto tensor = [&](size_t i) { return as_lazy(session, arg(i).toTensor()); };
  const auto done = [&](const at::Tensor& result) {
    torch::jit::drop(*stack, count);
    stack->push_back(result);
    return true;
  };
  if (name == "aten::nonzero") return done(nonzero(session, tensor(0)));
  if (name == "aten::masked_select") return done(masked_select(session, tensor(0), tensor(1)));
  if (name == "aten::index" || name == "aten::index_put") {
    IndexList indices = arg(1).toOptionalTensorList();
    if (masks_among(indices) == 0) return false;
    const at::Tensor self = tensor(0);
    indices = as_lazy(session, indices);
    if (name == "aten::index") return done(index(session, self, indices));
    const at::Tensor values = tensor(2);
    if (is_plain_fill(self, indices, values)) return false;
    const bool accumulate = arg(3).toBool();
    return done(index_put(session, self, indices, values, accumulate));
  }
  if (name == "aten::repeat_interleave" && op.operator_name().overload_name == "Tensor") {
    return arg(1).isNone() && done(repeat_interleave(session, tensor(0)));
  }
  if (name == "aten::_pack_padded_sequence") {
    const at::Tensor self = tensor(0), lengths = arg(1).toTensor();
    const bool batch_first = arg(2).toBool();
    torch::jit::drop(*stack, count);
    pack_padded_sequence(session, self, lengths, batch_first, stack);
    return true;
  }
  if (name == "aten::bincount") {
    const at::Tensor weights =
        arg(1).isNone() || !arg(1).toTensor().defined() ? at::Tensor() : tensor(1);
    const at::Tensor counts = bincount(session, tensor(0), weights, arg(2).toInt());
    if (counts.defined()) return done(counts);
  }
  if (opaque_ops().count(name) == 0) return false;
  opaque(session, op, torch::jit::pop(*stack, count), stack);
  return true;
}

}  // namespace lazyrt
