#include "host_tracer/aten/emitter.h"

#include <algorithm>
#include <numeric>

#include "host_tracer/aten/static_value.h"

namespace lazyrt {
namespace {

/// A filled tensor with more elements than this is written as a scalar and an expand.
constexpr int64_t kMaxFilledConstant = 1 << 16;

bool is_identity(const std::vector<int>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

Emitter::Emitter(Graph& graph, std::vector<bool>& is_static, Source source, bool any_size)
    : graph_(graph), is_static_(is_static), source_(std::move(source)), any_size_(any_size) {}

ValueId Emitter::fail(Error error, std::string text) {
  if (!failure_) failure_ = Failure{error, std::move(text)};
  return kNoValue;
}

DType Emitter::dtype(ValueId v) const {
  return v == kNoValue ? DType::kNone : graph_.value(v).dtype;
}

Shape Emitter::shape(ValueId v) const { return v == kNoValue ? Shape() : graph_.value(v).shape; }

int64_t Emitter::dim(ValueId v, int64_t axis) {
  const Shape s = shape(v);
  const int64_t i = axis < 0 ? axis + s.rank() : axis;
  if (i >= 0 && i < s.rank()) return s[static_cast<int>(i)];
  fail(Error::kInvalidArgument, std::string("an operand of shape ") + shape_text(s).text +
                                    " has no dim " + std::to_string(axis));
  return 1;
}

bool Emitter::is_static(ValueId v) const {
  const auto i = static_cast<size_t>(v);
  return v != kNoValue && i < is_static_.size() && is_static_[i];
}

std::optional<std::vector<Scalar>> Emitter::constant_values(ValueId v) const {
  if (v == kNoValue || graph_.value(v).kind != ValueKind::kConstant) return std::nullopt;
  return scalar_elements(graph_.value(v));
}

std::optional<std::vector<Scalar>> Emitter::known_values(ValueId v) const {
  if (!is_static(v)) return std::nullopt;
  return static_elements(graph_, v);
}

int Emitter::axis(int64_t given, int rank) {
  const int64_t r = std::max(rank, 1);
  if (given >= -r && given < r) return static_cast<int>(given < 0 ? given + r : given);
  fail(Error::kInvalidArgument, "dim " + std::to_string(given) + " is outside [-" +
                                    std::to_string(r) + ", " + std::to_string(r - 1) + "]");
  return 0;
}

Shape Emitter::make_shape(const std::vector<int64_t>& dims) {
  if (dims.size() <= static_cast<size_t>(kMaxRank)) return Shape(dims);
  fail(Error::kUnsupported, "needs a tensor of " + std::to_string(dims.size()) +
                                " dims; the runtime has at most " + std::to_string(kMaxRank));
  return Shape();
}

void Emitter::mark(ValueId v, bool is_static) {
  const auto i = static_cast<size_t>(v);
  if (i >= is_static_.size()) is_static_.resize(i + 1, false);
  is_static_[i] = is_static;
}

ValueId Emitter::scalar(DType dtype, const Scalar& value) { return constant(dtype, {}, {value}); }

ValueId Emitter::constant(DType dtype, const Shape& shape, const std::vector<Scalar>& values) {
  if (!ok()) return kNoValue;
  std::vector<uint8_t> bytes;
  bytes.reserve(values.size() * dtype_size(dtype));
  for (const Scalar& v : values) append_element(dtype, v, bytes);
  const ValueId id = graph_.add_constant("", dtype, shape, bytes.data());
  mark(id, true);
  return id;
}

ValueId Emitter::constant_ints(const Shape& shape, const std::vector<int64_t>& values) {
  if (!ok()) return kNoValue;
  const ValueId id = graph_.add_constant("", DType::kInt64, shape, values.data());
  mark(id, true);
  return id;
}

ValueId Emitter::sequence(const Shape& shape) {
  if (!ok()) return kNoValue;
  std::vector<int64_t> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0);
  return constant_ints(shape, values);
}

ValueId Emitter::filled(DType dtype, const Shape& shape, const Scalar& value) {
  if (any_size_ || shape.numel() > kMaxFilledConstant) return expand(scalar(dtype, value), shape);
  return constant(dtype, shape, std::vector<Scalar>(static_cast<size_t>(shape.numel()), value));
}

std::vector<ValueId> Emitter::add_all(const Attrs& attrs, const std::vector<ValueId>& inputs) {
  if (!ok()) return {};
  Outcome<std::vector<ValueId>> outputs = graph_.add_node(attrs, inputs, source_);
  if (!outputs.ok()) {
    fail(outputs.failure().error, outputs.failure().text);
    return {};
  }
  const bool all_static = std::all_of(inputs.begin(), inputs.end(),
                                      [this](ValueId v) { return v == kNoValue || is_static(v); });
  for (ValueId v : *outputs) mark(v, all_static);
  return *outputs;
}

ValueId Emitter::unary(fb::UnaryFn fn, ValueId x, double alpha, double beta) {
  fb::UnaryT op;
  op.fn = fn;
  op.alpha = alpha;
  op.beta = beta;
  return add(op, {x});
}

ValueId Emitter::binary(fb::BinaryFn fn, ValueId a, ValueId b) {
  fb::BinaryT op;
  op.fn = fn;
  return add(op, {a, b});
}

ValueId Emitter::binary_number(fb::BinaryFn fn, ValueId a, const Scalar& b) {
  return binary(fn, a, scalar(dtype(a), b));
}

ValueId Emitter::where(ValueId condition, ValueId a, ValueId b) {
  return add(fb::WhereT(), {cast(condition, DType::kBool), a, b});
}

ValueId Emitter::cast(ValueId x, DType to) {
  if (!ok() || dtype(x) == to) return x;
  if (numel(x) == 1) {
    if (const auto values = constant_values(x)) return constant(to, shape(x), *values);
  }
  fb::CastT op;
  op.to = static_cast<fb::DType>(to);
  return add(op, {x});
}

ValueId Emitter::reshape(ValueId x, const Shape& to) {
  if (has_shape(x, to)) return x;
  fb::ReshapeT op;
  op.shape.assign(to.begin(), to.end());
  return add(op, {x});
}

ValueId Emitter::permute(ValueId x, const std::vector<int>& perm) {
  if (is_identity(perm)) return x;
  fb::PermuteT op;
  op.perm.assign(perm.begin(), perm.end());
  return add(op, {x});
}

ValueId Emitter::transpose(ValueId x, int a, int b) {
  const int r = rank(x);
  if (a == b || a >= r || b >= r) return x;
  std::vector<int> perm(static_cast<size_t>(r));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return permute(x, perm);
}

ValueId Emitter::expand(ValueId x, const Shape& to) {
  if (has_shape(x, to)) return x;
  fb::ExpandT op;
  op.shape.assign(to.begin(), to.end());
  return add(op, {x});
}

ValueId Emitter::unsqueeze(ValueId x, int axis) {
  const Shape s = shape(x);
  std::vector<int64_t> dims(s.begin(), s.end());
  dims.insert(dims.begin() + std::min(axis, s.rank()), 1);
  return reshape(x, make_shape(dims));
}

ValueId Emitter::slice(ValueId x, int axis, int64_t start, int64_t size, int64_t step) {
  const Shape s = shape(x);
  if (!any_size_ && start == 0 && step == 1 && dim(x, axis) == size) return x;
  fb::SliceT op;
  op.starts.assign(s.size(), 0);
  op.sizes.assign(s.begin(), s.end());
  op.steps.assign(s.size(), 1);
  if (!ok()) return kNoValue;
  const auto i = static_cast<size_t>(axis);
  op.starts[i] = start;
  op.sizes[i] = size;
  op.steps[i] = step;
  return add(op, {x});
}

ValueId Emitter::concat(const std::vector<ValueId>& xs, int axis) {
  if (xs.size() == 1) return xs[0];
  fb::ConcatT op;
  op.axis = axis;
  return add(op, xs);
}

ValueId Emitter::reduce(fb::ReduceFn fn, ValueId x, const std::vector<int>& axes, bool keepdim) {
  if (axes.empty()) return x;
  fb::ReduceT op;
  op.fn = fn;
  op.axes.assign(axes.begin(), axes.end());
  op.keepdim = keepdim;
  return add(op, {x});
}

ValueId Emitter::index_select(ValueId x, int axis, ValueId ids, bool from_end) {
  fb::IndexSelectT op;
  op.axis = axis;
  op.from_end = from_end;
  return add(op, {x, ids});
}

ValueId Emitter::matmul(ValueId a, ValueId b, bool transpose_b) {
  fb::MatMulT op;
  op.transpose_b = transpose_b;
  return add(op, {a, b});
}

}  // namespace lazyrt
