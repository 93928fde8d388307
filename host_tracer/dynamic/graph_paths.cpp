#include "host_tracer/dynamic/graph_paths.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/constant_forms.h"
#include "host_tracer/graph/attr_numbers.h"

namespace lazyrt {
namespace {

constexpr size_t kMostSmall = 8192;                ///< bytes, of what makes a path
constexpr size_t kMostCompared = size_t{1} << 20;  ///< bytes
constexpr double kRounding = 1e-5;
constexpr double kOfLargest = 0.01;  ///< of that of the largest element

/// The value's constant if it is at most this large, else nullptr.
const Value* constant_up_to(size_t bytes, const Graph& graph, ValueId id) {
  if (id < 0) return nullptr;
  const Value& value = graph.value(id);
  return value.constant.data != nullptr && value.constant.bytes <= bytes ? &value : nullptr;
}

bool is_near(double a, double b) {
  return a == b || std::fabs(a - b) <= kRounding * std::fabs(b) || (std::isnan(a) && std::isnan(b));
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  const auto x = attr_numbers(a), y = attr_numbers(b);
  if (x.size() != y.size() || !(with_numbers(b, x) == a)) return false;
  return std::equal(x.begin(), x.end(), y.begin(), [](const AttrNumber& i, const AttrNumber& k) {
    return i.is_real() ? is_near(i.real, k.real) : i == k;
  });
}

Attrs without_numbers(const Attrs& attrs) {
  std::vector<AttrNumber> numbers = attr_numbers(attrs);
  for (AttrNumber& number : numbers) number.integer = 0, number.real = 0;
  return with_numbers(attrs, numbers);
}

template <class T>
T element(const Value& value, size_t byte) {
  T x;
  std::memcpy(&x, value.constant.data + byte, sizeof(T));
  return x;
}

/// Next to large elements, small ones are known less precisely.
template <class T>
bool near_elements(const Value& a, const Value& b) {
  double largest = 0;
  for (size_t i = 0; i < b.constant.bytes; i += sizeof(T)) {
    const double size = std::fabs(static_cast<double>(element<T>(b, i)));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  for (size_t i = 0; i < a.constant.bytes; i += sizeof(T)) {
    const auto x = static_cast<double>(element<T>(a, i)), y = static_cast<double>(element<T>(b, i));
    if (!is_near(x, y) && !(std::fabs(x - y) <= kRounding * largest * kOfLargest)) return false;
  }
  return true;
}

/// Reduces both to one element along the dims in which both broadcast or repeat.
bool reduce_repeated(Value* a, Value* b) {
  for (int d = 0; d < a->shape.rank(); ++d) {
    if (a->shape[d] == b->shape[d]) continue;
    Value* longer = a->shape[d] == 1 ? b : a;
    if ((longer == a ? b : a)->shape[d] != 1 || !is_repeated(*longer, d)) return false;
    *longer = first_slice(*longer, d);
  }
  return true;
}

bool same_constants(Value a, Value b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  if (a.shape == b.shape && a.constant.data == b.constant.data) return true;
  if (!reduce_repeated(&a, &b)) return false;
  if (a.dtype == DType::kFloat32) return near_elements<float>(a, b);
  if (a.dtype == DType::kFloat64) return near_elements<double>(a, b);
  return is_floating(a.dtype) || same_bytes(a.constant, b.constant);
}

bool same_if_constant(const Graph& a, ValueId x, const Graph& b, ValueId y) {
  const Value* p = constant_up_to(kMostCompared, a, x);
  const Value* q = constant_up_to(kMostCompared, b, y);
  return p == nullptr || q == nullptr || same_constants(*p, *q);
}

bool same_operands(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  for (size_t i = 0; i < std::min(x.inputs.size(), y.inputs.size()); ++i) {
    if (!same_if_constant(a, x.inputs[i], b, y.inputs[i])) return false;
  }
  return true;
}

void add_bytes(const Value* constant, SizePath* path) {
  if (constant == nullptr) return;
  const uint8_t* bytes = constant->constant.data;
  path->insert(path->end(), bytes, bytes + constant->constant.bytes);
}

/// Results, guards and next values of states; a constant among these is no operand of a node.
std::vector<ValueId> roots_of(const Graph& graph) {
  std::vector<ValueId> roots;
  graph.for_each_root([&](ValueId id) { roots.push_back(id); });
  return roots;
}

bool same_roots(const Graph& a, const Graph& b) {
  const auto x = roots_of(a), y = roots_of(b);
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!same_if_constant(a, x[i], b, y[i])) return false;
  }
  const bool same_results =
      std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                 [](const GraphOutput& p, const GraphOutput& q) { return p.literal == q.literal; });
  return same_results && std::equal(a.guards().begin(), a.guards().end(), b.guards().begin(),
                                    b.guards().end(), [](const GraphGuard& p, const GraphGuard& q) {
                                      return p.seen == q.seen && p.check == q.check;
                                    });
}

/// Of graphs whose structure differs.
Source place_of_parting(const Graph& a, const Graph& b) {
  size_t n = 0;
  const auto &x = a.nodes(), &y = b.nodes();
  while (n < x.size() && n < y.size() && x[n].attrs.kind() == y[n].attrs.kind()) ++n;
  if (n < x.size()) return x[n].source;
  return n < y.size() ? y[n].source : Source();
}

}  // namespace

SizePath path_of(const Graph& graph, const std::set<std::string>& places) {
  SizePath path = structure_of(graph);
  for (const Node& node : graph.nodes()) {
    const bool is_place = places.count(node.source.text()) != 0;
    const std::string attrs = (is_place ? node.attrs : without_numbers(node.attrs)).text();
    path.insert(path.end(), attrs.begin(), attrs.end());
    if (!is_place) continue;
    for (const ValueId id : node.inputs) add_bytes(constant_up_to(kMostSmall, graph, id), &path);
  }
  if (places.count("") != 0) {
    for (const ValueId id : roots_of(graph))
      add_bytes(constant_up_to(kMostSmall, graph, id), &path);
  }
  return path;
}

std::optional<Source> find_difference(const Graph& a, const Graph& b) {
  if (structure_of(a) != structure_of(b)) return place_of_parting(a, b);
  for (size_t n = 0; n < a.nodes().size(); ++n) {
    const Node &x = a.nodes()[n], &y = b.nodes()[n];
    if (!same_attrs(x.attrs, y.attrs) || !same_operands(a, x, b, y)) return x.source;
  }
  if (!same_roots(a, b)) return Source();
  return std::nullopt;
}

}  // namespace lazyrt
