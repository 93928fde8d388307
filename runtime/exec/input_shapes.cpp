#include "runtime/exec/input_shapes.h"

#include <cinttypes>
#include <cstdio>

#include "runtime/bundle/variant_sizes.h"

namespace lazyrt {
namespace {

const fb::Value& value_of(const fb::Method& method, size_t i) {
  return value_at(method, input_at(method, i).value());
}
/// "f32[batch,4]"
struct SymbolicText {
  char text[160];
};
SymbolicText symbolic_text(const fb::Method& method, const fb::Value& value) {
  SymbolicText out = {};
  if (LAZYRT_MESSAGES == 0) return out;
  const TensorSpec spec = spec_of(value);
  auto used =
      static_cast<size_t>(snprintf(out.text, sizeof(out.text), "%s[", dtype_name(spec.dtype)));
  for (int dim = 0; dim < spec.shape.rank() && used < sizeof(out.text); ++dim) {
    const ExtentRule rule = rule_of(method, value, dim);
    const char* comma = dim == 0 ? "" : ",";
    const size_t room = sizeof(out.text) - used;
    const int n = rule.symbol < 0
                      ? snprintf(out.text + used, room, "%s%" PRId64, comma, spec.shape[dim])
                      : snprintf(out.text + used, room, "%s%.*s", comma, rule.is_plain() ? 12 : 24,
                                 rule_text(method, rule).text);
    used += static_cast<size_t>(n);
  }
  if (used < sizeof(out.text)) snprintf(out.text + used, sizeof(out.text) - used, "]");
  return out;
}

/// Returns the only dim of the value that is a symbol, or -1.
int only_symbolic_dim(const fb::Value& value) {
  int found = -1;
  for (int dim = 0; dim < static_cast<int>(count_of(value.symbols())); ++dim) {
    if (symbol_of(value, dim) < 0) continue;
    if (found >= 0) return -1;
    found = dim;
  }
  return found;
}

bool has_choice(const fb::Value& value) {
  for (int32_t index : ints_of(value.symbols())) {
    if (index >= 0) return true;
  }
  return false;
}

/// Returns the first input with the symbol. REQUIRES: there is one.
size_t first_with(const fb::Method& method, int32_t symbol) {
  for (size_t i = 0;; ++i) {
    const fb::Value& value = value_of(method, i);
    for (int dim = 0; dim < static_cast<int>(count_of(value.symbols())); ++dim) {
      if (rule_of(method, value, dim).symbol == symbol) return i;
    }
  }
}

/// Finds the value of the rule's symbol. kInvalidArgument: "is 8, which is 2*n + 1 of no 'n'"
Fault solve(const fb::Method& method, const ExtentRule& rule, int64_t extent, int64_t* size) {
  if (rule.solve(extent, size)) return {};
  return Fault(Error::kInvalidArgument, "is %" PRId64 ", which is %s of no '%.40s'", extent,
               rule_text(method, rule).text, text_of(symbol_at(method, rule.symbol).name()));
}

/// Checks that some variant takes this extent of an input.
Fault check_extent(const fb::Method& method, const ExtentRule& rule, int64_t extent) {
  int64_t size = 0;
  LAZYRT_RETURN_IF_ERROR(solve(method, rule, extent, &size));
  const Fault status = check_size(method, static_cast<size_t>(rule.symbol), size);
  if (status.ok() || rule.is_plain()) return status;
  return status.with_context("is %" PRId64 " = %s", extent, rule_text(method, rule).text);
}

}  // namespace

Fault check_input_shape(const fb::Method& method, size_t i, const Shape& shape) {
  const fb::Value& value = value_of(method, i);
  const Shape file = shape_of(value.shape());
  if (shape.rank() != file.rank()) {
    return Fault(Error::kInvalidArgument, "input '%.60s' takes %s, got %s", input_name(method, i),
                 symbolic_text(method, value).text, shape_text(shape).text);
  }
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const ExtentRule rule = rule_of(method, value, dim);
    if (rule.symbol < 0 && shape[dim] != file[dim]) {
      return Fault(Error::kInvalidArgument, "input '%.60s' takes %s, got %s: dim %d differs",
                   input_name(method, i), symbolic_text(method, value).text, shape_text(shape).text,
                   dim);
    }
    if (rule.symbol < 0) continue;
    LAZYRT_RETURN_IF_ERROR(check_extent(method, rule, shape[dim])
                               .with_context("input '%.60s' dim %d", input_name(method, i), dim));
  }
  return {};
}

Fault check_input_tensor(const fb::Method& method, size_t i, const TensorView& tensor) {
  const fb::Value& value = value_of(method, i);
  if (tensor.dtype == dtype_of(value.dtype())) return check_input_shape(method, i, tensor.shape);
  return Fault(Error::kInvalidArgument, "input '%.60s' takes %s, got %s%s", input_name(method, i),
               symbolic_text(method, value).text, dtype_name(tensor.dtype),
               shape_text(tensor.shape).text);
}

Shape input_shape(const fb::Method& method, size_t i, Span<const int64_t> symbols) {
  const fb::Value& value = value_of(method, i);
  Shape shape = shape_of(value.shape());
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const ExtentRule rule = rule_of(method, value, dim);
    if (rule.symbol >= 0) shape[dim] = rule.at(symbols[static_cast<size_t>(rule.symbol)]);
  }
  return shape;
}

Fault find_input_shape(const fb::Method& method, size_t i, size_t bytes, Shape* shape) {
  const fb::Value& value = value_of(method, i);
  const int dim = only_symbolic_dim(value);
  *shape = shape_of(value.shape());
  uint64_t row = dtype_size(dtype_of(value.dtype()));
  for (int d = 0; d < shape->rank(); ++d) row *= d == dim ? 1 : static_cast<uint64_t>((*shape)[d]);
  if (dim >= 0 && row != 0 && bytes % row == 0) {
    (*shape)[dim] = static_cast<int64_t>(bytes / row);
    return check_input_shape(method, i, *shape);
  }
  return Fault(Error::kInvalidArgument, "input '%.60s' takes %s, got %zu bytes%s",
               input_name(method, i), symbolic_text(method, value).text, bytes,
               has_choice(value) && dim < 0 ? ": set it as a tensor" : "");
}

Fault resolve_symbols(const fb::Method& method, Span<const Shape> shapes, int64_t* symbols) {
  for (size_t s = 0; s < count_of(method.symbols()); ++s) symbols[s] = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const fb::Value& value = value_of(method, i);
    for (int dim = 0; dim < shapes[i].rank(); ++dim) {
      const ExtentRule rule = rule_of(method, value, dim);
      if (rule.symbol < 0) continue;
      int64_t& known = symbols[rule.symbol];
      const int64_t extent = shapes[i][dim];
      int64_t size = 0;
      LAZYRT_RETURN_IF_ERROR(solve(method, rule, extent, &size));
      if (known == 0) known = size;
      if (known == size) continue;
      const bool plain = rule.is_plain();
      return Fault(
          Error::kInvalidArgument,
          "input '%.60s' dim %d is %" PRId64 "%s%s, '%.40s' is %" PRId64 " by input '%.60s'",
          input_name(method, i), dim, extent, plain ? "" : " = ",
          plain ? "" : rule_text(method, rule).text, text_of(symbol_at(method, rule.symbol).name()),
          known, input_name(method, first_with(method, rule.symbol)));
    }
  }
  return check_sizes(method, {symbols, count_of(method.symbols())});
}

}  // namespace lazyrt
