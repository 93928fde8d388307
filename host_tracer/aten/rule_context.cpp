#include "host_tracer/aten/rule_context.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace lazyrt {
namespace {

std::string type_text(DType dtype, const Shape& shape) {
  return std::string(dtype_name(dtype)) + shape_text(shape).text;
}

/// Returns the number in an argument, if it is one.
std::optional<Scalar> as_number(const TraceArg& arg) {
  if (const bool* v = std::get_if<bool>(&arg)) return Scalar(*v);
  if (const int64_t* v = std::get_if<int64_t>(&arg)) return Scalar(*v);
  if (const double* v = std::get_if<double>(&arg)) return Scalar(*v);
  return std::nullopt;
}

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

constexpr const char* kOperands[] = {"self", "other", "exponent"};

bool is_operand(std::string_view name) {
  return std::find(std::begin(kOperands), std::end(kOperands), name) != std::end(kOperands);
}

bool takes_f32_numbers(const std::string& op) {
  return op == "aten::mul" || op == "aten::div" || op == "aten::floor_divide";
}

/// Whether eager keeps the call's numbers (alpha, an exponent) in the type of its operands.
bool rounds_numbers(const std::string& op) {
  static const std::unordered_set<std::string> names = {
      "aten::add", "aten::sub",       "aten::rsub",      "aten::pow", "aten::eq",
      "aten::ne",  "aten::remainder", "aten::fmod",      "aten::lt",  "aten::le",
      "aten::gt",  "aten::ge",        "aten::hardshrink"};
  return names.count(op) != 0;
}

Scalar rounded(const Scalar& value, DType dtype) {
  std::vector<uint8_t> bytes;
  append_element(dtype, value, bytes);
  return read_scalar(dtype, bytes.data(), 0);
}

}  // namespace

RuleContext::RuleContext(Graph& graph, ImportState& state, const TraceNode& node, bool wide)
    : Emitter(graph, state.is_static, node.source, state.any_size),
      state_(state),
      node_(node),
      wide_(wide),
      half_(wide ? half_of_operands() : DType::kNone),
      set_(node.outputs.size(), false) {}

ValueId RuleContext::fail_arg(const char* name, const std::string& why) {
  return fail(Error::kInvalidArgument, std::string("argument '") + name + "' " + why);
}

const TraceArg* RuleContext::arg(const char* name, const char* expected) {
  const TraceArg* found = node_.find(name);
  if (found == nullptr) {
    fail_arg(name, std::string("is missing (expected ") + expected + ")");
  } else if (std::holds_alternative<std::monostate>(*found)) {
    fail_arg(name, std::string("is None (expected ") + expected + ")");
    return nullptr;
  }
  return found;
}

bool RuleContext::has(const char* name) const {
  const TraceArg* found = node_.find(name);
  if (found == nullptr || std::holds_alternative<std::monostate>(*found)) return false;
  const TensorArg* t = std::get_if<TensorArg>(found);
  return t == nullptr || t->value != kNoTraceValue;
}

bool RuleContext::is_tensor(const char* name) const {
  const TraceArg* found = node_.find(name);
  return found != nullptr && std::holds_alternative<TensorArg>(*found);
}

const TraceValue* RuleContext::trace_value(const char* name) const {
  const TraceArg* found = node_.find(name);
  const TensorArg* t = found == nullptr ? nullptr : std::get_if<TensorArg>(found);
  if (t == nullptr || t->value == kNoTraceValue) return nullptr;
  return &state_.trace->values[static_cast<size_t>(t->value)];
}

ValueId RuleContext::value_of(TraceValueId id, const char* name) {
  if (id == kNoTraceValue) return fail_arg(name, "is an undefined tensor");
  const auto i = static_cast<size_t>(id);
  if (i >= state_.values.size() || state_.values[i] == kNoValue) {
    return fail_arg(name, "is a value that was not computed before");
  }
  return widened(state_.values[i], name);
}

DType RuleContext::widened(DType dtype) const {
  return wide_ && is_half(dtype) ? DType::kFloat32 : dtype;
}

/// In products and quotients eager takes the second operand, if it is a number, in f32; other
/// operators round it.
ValueId RuleContext::widened(ValueId v, const char* name) {
  const bool number = rank(v) == 0 && !is_half(dtype(v)) && dtype(v) != DType::kBool;
  const bool whole = std::string_view(name) == "other" && takes_f32_numbers(node_.op);
  if (number && half_ != DType::kNone && is_operand(name) && !whole) v = cast(v, half_);
  return cast(v, widened(dtype(v)));
}

DType RuleContext::half_of_operands() const {
  std::vector<PromotionOperand> operands;
  for (const char* name : kOperands) {
    const TraceValue* v = trace_value(name);
    if (v != nullptr) operands.push_back({v->dtype, v->shape.empty(), v->wrapped_number});
  }
  const DType promoted = result_type(operands, state_.trace->default_real);
  return is_half(promoted) ? promoted : DType::kNone;
}

ValueId RuleContext::tensor(const char* name) {
  const TraceArg* found = arg(name, "a tensor");
  if (found == nullptr) return kNoValue;
  const TensorArg* t = std::get_if<TensorArg>(found);
  return t == nullptr ? fail_arg(name, "is not a tensor") : value_of(t->value, name);
}

ValueId RuleContext::optional_tensor(const char* name) {
  return has(name) ? tensor(name) : kNoValue;
}

std::vector<ValueId> RuleContext::tensors(const char* name) {
  const TraceArg* found = arg(name, "a list of tensors");
  if (found == nullptr) return {};
  const auto* list = std::get_if<std::vector<TensorArg>>(found);
  if (list == nullptr) {
    fail_arg(name, "is not a list of tensors");
    return {};
  }
  std::vector<ValueId> values;
  for (const TensorArg& t : *list) {
    values.push_back(t.value == kNoTraceValue ? kNoValue : value_of(t.value, name));
  }
  return values;
}

ValueId RuleContext::operand(const char* name) {
  if (is_tensor(name)) return tensor(name);
  const Scalar value = number(name);
  return scalar(value.dtype(), value);
}

int64_t RuleContext::integer(const char* name) {
  const TraceArg* found = arg(name, "an integer");
  if (found == nullptr) return 0;
  if (const int64_t* v = std::get_if<int64_t>(found)) return *v;
  if (const bool* v = std::get_if<bool>(found)) return *v ? 1 : 0;
  fail_arg(name, "is not an integer");
  return 0;
}

int64_t RuleContext::integer_or(const char* name, int64_t fallback) {
  return has(name) ? integer(name) : fallback;
}

bool RuleContext::boolean(const char* name) {
  const TraceArg* found = arg(name, "a bool");
  if (found == nullptr) return false;
  if (const bool* v = std::get_if<bool>(found)) return *v;
  fail_arg(name, "is not a bool");
  return false;
}

bool RuleContext::boolean_or(const char* name, bool fallback) {
  return has(name) ? boolean(name) : fallback;
}

Scalar RuleContext::number(const char* name) {
  const TraceArg* found = arg(name, "a number");
  if (found == nullptr) return 0;
  if (const auto value = as_number(*found)) {
    return half_ != DType::kNone && rounds_numbers(node_.op) ? rounded(*value, half_) : *value;
  }
  const TraceValue* v = trace_value(name);
  const bool one_constant =
      v != nullptr && v->constant.data != nullptr && v->constant.bytes == dtype_size(v->dtype);
  if (one_constant) return read_scalar(v->dtype, v->constant.data, 0);
  fail_arg(name, v == nullptr ? "is not a number" : "is computed by the model; it must be known");
  return 0;
}

Scalar RuleContext::number_or(const char* name, const Scalar& fallback) {
  return has(name) ? number(name) : fallback;
}

std::string RuleContext::text_or(const char* name, const std::string& fallback) {
  if (!has(name)) return fallback;
  if (const auto* v = std::get_if<std::string>(node_.find(name))) return *v;
  fail_arg(name, "is not a string");
  return fallback;
}

std::vector<int64_t> RuleContext::ints(const char* name) {
  const TraceArg* found = arg(name, "a list of integers");
  if (found == nullptr) return {};
  if (const auto* v = std::get_if<std::vector<int64_t>>(found)) return *v;
  if (const int64_t* v = std::get_if<int64_t>(found)) return {*v};
  const auto* tensors = std::get_if<std::vector<TensorArg>>(found);
  const auto* doubles = std::get_if<std::vector<double>>(found);
  const auto* bools = std::get_if<std::vector<bool>>(found);
  const bool empty =
      (tensors && tensors->empty()) || (doubles && doubles->empty()) || (bools && bools->empty());
  if (!empty) fail_arg(name, "is not a list of integers");
  return {};
}

std::vector<int64_t> RuleContext::ints_or(const char* name, std::vector<int64_t> fallback) {
  return has(name) ? ints(name) : std::move(fallback);
}

std::vector<double> RuleContext::doubles_or(const char* name, std::vector<double> fallback) {
  if (!has(name)) return fallback;
  if (const auto* v = std::get_if<std::vector<double>>(node_.find(name))) return *v;
  const std::vector<int64_t> integers = ints(name);
  return {integers.begin(), integers.end()};
}

std::array<int64_t, 2> RuleContext::pair(const char* name, int spatial, int64_t unit,
                                         std::array<int64_t, 2> fallback) {
  const std::vector<int64_t> list = ints_or(name, {});
  if (list.empty()) return fallback;
  if (list.size() > static_cast<size_t>(spatial)) {
    fail_arg(name, "has " + std::to_string(list.size()) + " elements, expected at most " +
                       std::to_string(spatial));
    return fallback;
  }
  return {spatial == 1 ? unit : list.front(), list.back()};
}

std::array<int64_t, 3> RuleContext::triple(const char* name, int spatial, int64_t unit,
                                           std::array<int64_t, 3> fallback) {
  if (spatial < 3) {
    const std::array<int64_t, 2> image = pair(name, spatial, unit, {fallback[1], fallback[2]});
    return {unit, image[0], image[1]};
  }
  const std::vector<int64_t> list = ints_or(name, {});
  if (list.empty()) return fallback;
  if (list.size() == 1) return {list[0], list[0], list[0]};
  if (list.size() == 3) return {list[0], list[1], list[2]};
  fail_arg(name, "has " + std::to_string(list.size()) + " elements, expected 1 or 3");
  return fallback;
}

int RuleContext::axis_arg(const char* name, ValueId x) {
  const int64_t given = integer(name);
  const int64_t r = std::max(rank(x), 1);
  if (given >= -r && given < r) return static_cast<int>(given < 0 ? given + r : given);
  fail_arg(name, "is " + std::to_string(given) + ", outside the dims of " +
                     type_text(dtype(x), shape(x)));
  return 0;
}

std::vector<int> RuleContext::axes_arg(const char* name, ValueId x) {
  const int r = rank(x);
  std::vector<int64_t> given = ints_or(name, {});
  if (given.empty()) {
    given.resize(static_cast<size_t>(r));
    std::iota(given.begin(), given.end(), 0);
  }
  if (r == 0) return {};
  std::vector<int> axes;
  for (int64_t d : given) axes.push_back(axis(d, r));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    fail_arg(name, "names a dim twice");
  }
  return axes;
}

PromotionOperand RuleContext::promotion(const char* name) {
  if (const TraceValue* v = trace_value(name)) {
    return {widened(v->dtype), v->shape.empty(), v->wrapped_number};
  }
  return {number(name).dtype(), true, true};
}

DType RuleContext::promoted(const char* a, const char* b) {
  return result_type({promotion(a), promotion(b)}, state_.trace->default_real);
}

DType RuleContext::out_dtype(size_t i) const { return widened(trace_dtype(i)); }

DType RuleContext::trace_dtype(size_t i) const {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoTraceValue) return DType::kNone;
  return state_.trace->values[static_cast<size_t>(node_.outputs[i])].dtype;
}

Shape RuleContext::out_shape(size_t i) const {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoTraceValue) return {};
  return Shape(state_.trace->values[static_cast<size_t>(node_.outputs[i])].shape);
}

bool RuleContext::used(size_t i) const {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoTraceValue) return false;
  return state_.uses[static_cast<size_t>(node_.outputs[i])] > 0;
}

bool RuleContext::is_set(size_t i) const { return set_[i]; }

void RuleContext::set(size_t i, ValueId v) {
  if (!used(i) || !ok()) return;
  v = cast(v, trace_dtype(i));
  if (shape(v) != out_shape(i)) {
    fail(Error::kInternal, "result " + std::to_string(i) + " came out as " +
                               type_text(dtype(v), shape(v)) + ", the trace has " +
                               type_text(out_dtype(i), out_shape(i)));
    return;
  }
  if (!ok()) return;
  state_.values[static_cast<size_t>(node_.outputs[i])] = v;
  set_[i] = true;
}

}  // namespace lazyrt
