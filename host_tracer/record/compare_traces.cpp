#include "host_tracer/record/compare_traces.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "host_tracer/record/seen_text.h"

namespace lazyrt {
namespace {

std::string number_of(const SeenNumber& number, bool exact = false) {
  if (const auto* v = std::get_if<bool>(&number)) return *v ? "True" : "False";
  if (const auto* v = std::get_if<int64_t>(&number)) return std::to_string(*v);
  if (!exact) return number_text(std::get<double>(number));
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.17g", std::get<double>(number));
  return buffer;
}

/// Texts of two numbers, precise enough to show how they differ.
void set_texts(TraceDifference& found, const SeenNumber& a, const SeenNumber& b) {
  found.first_text = number_of(a);
  found.second_text = number_of(b);
  if (found.first_text != found.second_text) return;
  found.first_text = number_of(a, true);
  found.second_text = number_of(b, true);
}

/// Numbers of an argument that is no tensor; false when it is of another kind.
struct Literals {
  std::vector<SeenNumber>& out;
  bool operator()(std::monostate) const { return true; }
  bool operator()(bool v) const { return add(v); }
  bool operator()(int64_t v) const { return add(v); }
  bool operator()(double v) const { return add(v); }
  bool operator()(const std::string&) const { return false; }
  bool operator()(DType) const { return false; }
  bool operator()(TensorArg) const { return false; }
  bool operator()(const std::vector<TensorArg>&) const { return false; }
  template <typename T>
  bool operator()(const std::vector<T>& items) const {
    for (size_t i = 0; i < items.size(); ++i) add(static_cast<T>(items[i]));
    return true;
  }
  bool add(SeenNumber number) const {
    out.push_back(number);
    return true;
  }
};

bool same_number(const SeenNumber& a, const SeenNumber& b) {
  if (a.index() != b.index()) return false;
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return a == b || (x && std::isnan(*x) && std::isnan(*y));
}

template <typename T>
T load(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

std::optional<SeenNumber> element(const TraceValue& value, size_t i) {
  const uint8_t* at = value.constant.data + i * dtype_size(value.dtype);
  switch (value.dtype) {
    case DType::kBool:
      return *at != 0;
    case DType::kFloat32:
      return static_cast<double>(load<float>(at));
    case DType::kFloat64:
      return load<double>(at);
    case DType::kInt64:
      return load<int64_t>(at);
    case DType::kInt32:
      return static_cast<int64_t>(load<int32_t>(at));
    default:
      return std::nullopt;
  }
}

std::string shape_text(const TraceValue& value) {
  std::string text = std::string(dtype_name(value.dtype)) + "[";
  for (size_t i = 0; i < value.shape.size(); ++i) {
    text += (i ? "," : "") + std::to_string(value.shape[i]);
  }
  return text + "]";
}

/// A constant by the element in which it differs.
std::string constant_text(const TraceValue& value, size_t i, bool single) {
  const auto number = element(value, i);
  if (single) return number ? number_of(*number) : shape_text(value);
  if (!number) return shape_text(value);
  return shape_text(value) + " with " + number_of(*number) + " at " + std::to_string(i);
}

class Comparer {
 public:
  Comparer(const Trace& first, const Trace& second, const std::vector<bool>& random)
      : first_(first), second_(second), random_(random) {}

  TraceComparison run() {
    const size_t count = std::min(first_.nodes.size(), second_.nodes.size());
    for (size_t i = 0; i < count && result_.same_path; ++i) node(static_cast<int32_t>(i));
    if (first_.nodes.size() != second_.nodes.size()) part(static_cast<int32_t>(count));
    if (first_.outputs.size() != second_.outputs.size()) part(-1);
    for (size_t i = 0; i < first_.outputs.size() && result_.same_path; ++i) output(i);
    return std::move(result_);
  }

 private:
  void part(int32_t node) {
    if (!result_.same_path) return;
    result_.same_path = false;
    result_.parted_node = node;
  }

  void node(int32_t i) {
    const TraceNode &a = first_.nodes[static_cast<size_t>(i)],
                    &b = second_.nodes[static_cast<size_t>(i)];
    if (a.op != b.op || a.overload != b.overload || a.outputs != b.outputs ||
        a.args.size() != b.args.size()) {
      return part(i);
    }
    for (const TraceValueId id : a.outputs) {
      if (id != kNoTraceValue && !same_form(id)) return part(i);
    }
    for (size_t k = 0; k < a.args.size() && result_.same_path; ++k) {
      argument(i, a.args[k].first, a.args[k].second, b.args[k].second);
    }
  }

  bool same_form(TraceValueId id) const {
    const auto place = static_cast<size_t>(id);
    if (place >= first_.values.size() || place >= second_.values.size()) return false;
    const TraceValue &a = first_.values[place], &b = second_.values[place];
    return a.dtype == b.dtype && a.shape == b.shape && a.leaf == b.leaf && a.name == b.name;
  }

  void argument(int32_t node, const std::string& name, const TraceArg& a, const TraceArg& b) {
    if (a.index() != b.index()) return part(node);
    if (const auto* one = std::get_if<TensorArg>(&a)) {
      return operand(node, name, *one, std::get<TensorArg>(b));
    }
    if (const auto* list = std::get_if<std::vector<TensorArg>>(&a)) {
      const auto& other = std::get<std::vector<TensorArg>>(b);
      if (list->size() != other.size()) return part(node);
      for (size_t i = 0; i < list->size(); ++i) operand(node, name, (*list)[i], other[i]);
      return;
    }
    literal(node, name, a, b);
  }

  void literal(int32_t node, const std::string& name, const TraceArg& a, const TraceArg& b) {
    std::vector<SeenNumber> x, y;
    if (!std::visit(Literals{x}, a) || !std::visit(Literals{y}, b) || x.size() != y.size()) {
      if (!(a == b)) part(node);
      return;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      if (same_number(x[i], y[i])) continue;
      TraceDifference found;
      found.node = node;
      found.argument = name;
      add_numbers(found, x[i], y[i]);
    }
  }

  void add_numbers(TraceDifference found, const SeenNumber& a, const SeenNumber& b) {
    found.first_number = a;
    found.second_number = b;
    set_texts(found, a, b);
    result_.differences.push_back(std::move(found));
  }

  void operand(int32_t node, const std::string& name, TensorArg a, TensorArg b) {
    if (!(a == b)) return part(node);
    if (a.value == kNoTraceValue) return;
    if (!same_form(a.value)) return part(node);
    TraceDifference found;
    found.node = node;
    found.argument = name;
    leaf(std::move(found), a.value);
  }

  void leaf(TraceDifference found, TraceValueId id) {
    const auto place = static_cast<size_t>(id);
    const TraceValue &a = first_.values[place], &b = second_.values[place];
    if (a.leaf == LeafKind::kNotLeaf || a.leaf == LeafKind::kInput || random_[place]) return;
    if (a.constant.data == b.constant.data || a.constant.bytes == 0) return;
    if (std::memcmp(a.constant.data, b.constant.data, a.constant.bytes) == 0) return;
    size_t byte = 0;
    while (a.constant.data[byte] == b.constant.data[byte]) ++byte;
    const size_t i = byte / dtype_size(a.dtype);
    const bool single = a.constant.bytes == dtype_size(a.dtype);
    found.first_leaf = found.second_leaf = id;
    if (single) {
      found.first_number = element(a, 0);
      found.second_number = element(b, 0);
    }
    found.first_text = constant_text(a, i, single);
    found.second_text = constant_text(b, i, single);
    if (found.first_number && found.second_number) {
      set_texts(found, *found.first_number, *found.second_number);
    }
    result_.differences.push_back(std::move(found));
  }

  void output(size_t i) {
    const TraceOutput &a = first_.outputs[i], &b = second_.outputs[i];
    if (a.value != b.value || a.literal.has_value() != b.literal.has_value()) return part(-1);
    TraceDifference found;
    found.output = static_cast<TraceValueId>(i);
    if (a.value != kNoTraceValue) {
      if (!same_form(a.value)) return part(-1);
      leaf(std::move(found), a.value);
    } else if (a.literal && !same_number(*a.literal, *b.literal)) {
      add_numbers(std::move(found), *a.literal, *b.literal);
    }
  }

  const Trace& first_;
  const Trace& second_;
  const std::vector<bool>& random_;
  TraceComparison result_;
};

}  // namespace

TraceComparison compare_traces(const Trace& first, const Trace& second,
                               const std::vector<bool>& random) {
  return Comparer(first, second, random).run();
}

}  // namespace lazyrt
