#include "host_tracer/dynamic/unify.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/constant_forms.h"
#include "host_tracer/dynamic/solve.h"
#include "host_tracer/graph/attr_numbers.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

/// Adds the nodes that compute what was a constant.
using Replacement = std::function<Outcome<ValueId>(Graph& graph, const Source& source)>;

/// What a copy of a graph has otherwise.
struct Changes {
  std::vector<Shape> inputs;  ///< their shapes
  std::map<ValueId, Replacement> constants;
  std::map<size_t, std::vector<AttrNumber>> numbers;  ///< by node
  std::map<size_t, size_t> same_as;                   ///< nodes that an earlier one stands for
};

/// Builds a graph again, so that its shapes follow from the shape rules.
class GraphCopy {
 public:
  GraphCopy(const Graph& from, const Changes& changes)
      : from_(from), changes_(changes), to_(from.ops()), ids_(from.value_count(), kNoValue) {}

  Outcome<Graph> run() {
    add_leaves();
    for (size_t n = 0; n < from_.nodes().size(); ++n) LAZYRT_TRY(add_node(n));
    to_.outputs() = from_.outputs();
    to_.guards() = from_.guards();
    LAZYRT_TRY(finish_roots());
    to_.compact();
    return std::move(to_);
  }

 private:
  void add_leaves() {
    for (size_t i = 0; i < from_.inputs().size(); ++i) {
      const Value& v = from_.value(from_.inputs()[i]);
      at(from_.inputs()[i]) = to_.add_input(v.name, v.dtype, changes_.inputs[i]);
    }
    for (const GraphState& state : from_.states()) {
      const Value& v = from_.value(state.value);
      at(state.value) = to_.add_state(v.name, v.dtype, v.shape, v.constant);
    }
    for (ValueId id = 0; id < static_cast<ValueId>(from_.value_count()); ++id) {
      const Value& v = from_.value(id);
      if (v.kind != ValueKind::kConstant || changes_.constants.count(id) != 0) continue;
      at(id) = to_.add_constant(v.name, v.dtype, v.shape, v.constant);
    }
  }

  ValueId& at(ValueId id) { return ids_[static_cast<size_t>(id)]; }

  /// A constant that has become a node is made before its first reader.
  Outcome<ValueId> current(ValueId id, const Source& source) {
    if (id == kNoValue || at(id) != kNoValue) return id == kNoValue ? id : at(id);
    auto made = changes_.constants.at(id)(to_, source);
    if (!made.ok()) return made;
    return at(id) = *made;
  }

  Outcome<Done> add_node(size_t index) {
    const Node& node = from_.nodes()[index];
    if (const auto same = changes_.same_as.find(index); same != changes_.same_as.end()) {
      const Node& first = from_.nodes()[same->second];
      for (size_t k = 0; k < node.outputs.size(); ++k) at(node.outputs[k]) = at(first.outputs[k]);
      return Done{};
    }
    std::vector<ValueId> operands;
    for (const ValueId id : node.inputs) {
      auto operand = current(id, node.source);
      if (!operand.ok()) return operand.failure();
      operands.push_back(*operand);
    }
    const auto it = changes_.numbers.find(index);
    const Attrs attrs =
        it == changes_.numbers.end() ? node.attrs : with_numbers(node.attrs, it->second);
    auto made = to_.add_node(attrs, operands, node.source);
    if (!made.ok()) return made.failure();
    for (size_t k = 0; k < node.outputs.size(); ++k) at(node.outputs[k]) = (*made)[k];
    return Done{};
  }

  Outcome<Done> finish_roots() {
    std::optional<Failure> failed;
    const auto move = [&](ValueId& id) {
      auto now = current(id, {});
      if (!now.ok()) failed = now.failure();
      if (now.ok()) id = *now;
    };
    for (GraphOutput& out : to_.outputs()) move(out.value);
    for (GraphGuard& guard : to_.guards()) move(guard.value);
    for (size_t i = 0; i < from_.states().size(); ++i) {
      ValueId next = from_.states()[i].next;
      move(next);
      to_.states()[i].next = next;
    }
    if (failed) return *failed;
    return Done{};
  }

  const Graph& from_;
  const Changes& changes_;
  Graph to_;
  std::vector<ValueId> ids_;  ///< in the copy
};

std::vector<Shape> input_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs()) shapes.push_back(graph.value(id).shape);
  return shapes;
}

}  // namespace

class Unifier {
 public:
  Unifier(std::vector<Graph> graphs, const DynamicShapes& shapes,
          const std::vector<SizePoint>& points)
      : graphs_(std::move(graphs)), points_(points), made_(graphs_[0].ops()) {
    made_.shapes_ = shapes;
    solver_.emplace(shapes.symbols, points_, &made_.terms_);
  }

  Outcome<DynamicGraph> run() {
    LAZYRT_TRY(check_structure());
    LAZYRT_TRY(replace_constants());
    LAZYRT_TRY(eliminate_common());
    LAZYRT_TRY(solve_numbers());
    keep_terms();
    find_value_symbols();
    made_.model_ = std::move(graphs_[0]);
    LAZYRT_TRY(check_points());
    return std::move(made_);
  }

  UnifyHints hints() const { return {solver_->wanted(), place_}; }

 private:
  const Graph& base() const { return graphs_[0]; }

  Failure differs(size_t k, const std::string& what, const Source& source) const {
    const std::string place = source.text();
    place_ = source;
    return {Error::kUnsupported,
            kDiffersAtSizes + made_.shapes_.text(points_[0]) + " and at " +
                made_.shapes_.text(points_[k]) + ": " + what + (place.empty() ? "" : ", " + place),
            FailureKind::kDiffersAtSizes};
  }

  // ------------------------------------------------------------ structure

  Outcome<Done> check_structure() const {
    for (size_t k = 1; k < graphs_.size(); ++k) LAZYRT_TRY(check_nodes(k));
    for (size_t k = 1; k < graphs_.size(); ++k) LAZYRT_TRY(check_roots(k));
    return Done{};
  }

  Outcome<Done> check_nodes(size_t k) const {
    const auto &a = base().nodes(), &b = graphs_[k].nodes();
    for (size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
      if (a[n].attrs.kind() != b[n].attrs.kind()) {
        return differs(k,
                       std::string(a[n].attrs.name()) + " here is " + b[n].attrs.name() + " there" +
                           steps_text(),
                       a[n].source);
      }
      if (shape_of_operands(base(), a[n]) != shape_of_operands(graphs_[k], b[n]))
        return differs(k, std::string(a[n].attrs.name()) + " reads other values" + steps_text(),
                       a[n].source);
    }
    if (a.size() == b.size()) return Done{};
    const auto& longer = a.size() > b.size() ? a : b;
    return differs(k,
                   std::to_string(a.size()) + " operators here are " + std::to_string(b.size()) +
                       " there" + steps_text(),
                   longer[std::min(a.size(), b.size())].source);
  }

  /// Where there are as many operators as sizes.
  std::string steps_text() const {
    constexpr size_t kMany = 4;
    std::map<size_t, size_t> counts;  // the number of operators, and a point
    for (size_t k = 0; k < graphs_.size(); ++k) counts.emplace(graphs_[k].nodes().size(), k);
    if (counts.size() < kMany) return "";
    const auto at = [&](const auto& entry) {
      return std::to_string(entry.first) + " operators at " +
             made_.shapes_.text(points_[entry.second]);
    };
    return " (" + at(*counts.begin()) + ", " + at(*counts.rbegin()) +
           ": a loop over a size? Write it as operations on whole tensors, or fix that size)";
  }

  /// Operands by their place among nodes, inputs and states; constants only as such: their numbers
  /// follow from first uses.
  static std::vector<std::pair<int, int>> shape_of_operands(const Graph& graph, const Node& node) {
    std::vector<std::pair<int, int>> list;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) {
        list.emplace_back(-1, 0);
        continue;
      }
      const Value& v = graph.value(id);
      list.emplace_back(static_cast<int>(v.kind), v.kind == ValueKind::kNode ? v.producer : id);
    }
    return list;
  }

  Outcome<Done> check_roots(size_t k) const {
    const Graph& other = graphs_[k];
    if (base().value_count() != other.value_count())
      return differs(k, "it has another number of constants", {});
    if (base().outputs().size() != other.outputs().size())
      return differs(k, "it has another number of results", {});
    for (size_t i = 0; i < base().outputs().size(); ++i) {
      const GraphOutput &a = base().outputs()[i], &b = other.outputs()[i];
      if (a.literal != b.literal)
        return differs(k, "the result '" + a.name + "' is a number that depends on sizes", {});
      if (a.value != b.value) return differs(k, "the result '" + a.name + "' is another value", {});
    }
    if (base().guards().size() != other.guards().size())
      return differs(k, "it makes another number of decisions on values", {});
    for (size_t i = 0; i < base().guards().size(); ++i) {
      const GraphGuard &a = base().guards()[i], &b = other.guards()[i];
      if (a.value != b.value || a.seen != b.seen || a.check != b.check)
        return differs(k, "a decision on a value had another outcome: " + b.text, b.source);
    }
    if (base().states().size() != other.states().size())
      return differs(k, "it keeps another number of states", {});
    for (size_t i = 0; i < base().states().size(); ++i) {
      const GraphState &a = base().states()[i], &b = other.states()[i];
      const Value &x = base().value(a.value), &y = other.value(b.value);
      if (a.next != b.next || x.shape != y.shape || x.dtype != y.dtype ||
          !same_bytes(x.constant, y.constant))
        return differs(k, "the state '" + x.name + "' depends on sizes", {});
    }
    return Done{};
  }

  // ------------------------------------------------------------ constants

  Source reader_of(ValueId id) const {
    for (const Node& node : base().nodes()) {
      if (std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end())
        return node.source;
    }
    return {};
  }

  const Value& value(size_t k, ValueId id) const { return graphs_[k].value(id); }

  SizedConstant sized(ValueId id) const {
    SizedConstant values;
    for (const Graph& graph : graphs_) values.push_back(&graph.value(id));
    return values;
  }

  Outcome<Done> replace_constants() {
    std::vector<Changes> changes(graphs_.size());
    for (size_t k = 0; k < graphs_.size(); ++k) changes[k].inputs = input_shapes(graphs_[k]);
    bool any = false;
    for (ValueId id = 0; id < static_cast<ValueId>(base().value_count()); ++id) {
      if (base().value(id).kind != ValueKind::kConstant || !varies(sized(id))) continue;
      any = true;
      LAZYRT_TRY(replace_constant(id, &changes));
    }
    if (!any) return Done{};
    std::vector<Graph> copies;
    for (size_t k = 0; k < graphs_.size(); ++k) {
      auto copy = GraphCopy(graphs_[k], changes[k]).run();
      if (!copy.ok()) return copy.failure();
      copies.push_back(std::move(*copy));
    }
    auto dropped = AlikePasses({{"drop_expands", drop_expands}}).run(std::move(copies));
    if (!dropped.ok()) return dropped.failure();
    graphs_ = std::move(*dropped);
    return check_structure();
  }

  Outcome<Done> replace_constant(ValueId id, std::vector<Changes>* changes) const {
    const Value& v = base().value(id);
    for (size_t k = 1; k < graphs_.size(); ++k) {
      if (value(k, id).dtype != v.dtype || value(k, id).shape.rank() != v.shape.rank())
        return differs(k, "a constant has another type or rank", reader_of(id));
    }
    if (replace_by_full(id, changes) || replace_by_slice(id, changes) ||
        replace_by_ramps(id, changes) || replace_by_elements(id, changes))
      return Done{};
    size_t k = 1;
    while (value(k, id).shape == v.shape && same_bytes(value(k, id).constant, v.constant)) ++k;
    return differs(k,
                   std::string("a constant ") + dtype_name(v.dtype) + shape_text(v.shape).text +
                       " is " + shape_text(value(k, id).shape).text +
                       " there, which is not a part of the largest one: compute it from tensors of "
                       "that size, or give it as an input",
                   reader_of(id));
  }

  bool replace_by_full(ValueId id, std::vector<Changes>* changes) const {
    for (size_t k = 0; k < graphs_.size(); ++k) {
      if (!full_of(value(k, id))) return false;
    }
    for (size_t k = 0; k < graphs_.size(); ++k) {
      const Attrs full = Attrs::of(*full_of(value(k, id)));
      (*changes)[k].constants[id] = [full](Graph& graph, const Source& source) {
        return graph.add(full, {}, source);
      };
    }
    return true;
  }

  bool replace_by_slice(ValueId id, std::vector<Changes>* changes) const {
    const auto form = slice_of_largest(sized(id));
    if (form) add_slices(id, form->varying, form->at_end, changes);
    return form.has_value();
  }

  void add_slices(ValueId id, const std::vector<int>& varying, const std::vector<bool>& at_end,
                  std::vector<Changes>* changes) const {
    const Value& whole = graphs_.back().value(id);
    Value kept = whole;
    std::vector<int> sliced;
    for (const int d : varying) {
      if (is_repeated(whole, d)) {
        kept = first_slice(kept, d);
      } else {
        sliced.push_back(d);
      }
    }
    for (size_t k = 0; k < graphs_.size(); ++k) {
      const Shape& shape = value(k, id).shape;
      const std::vector<int64_t> starts = starts_of(value(k, id), whole, at_end);
      fb::SliceT slice;
      fb::ExpandT expand;
      for (int d = 0; d < shape.rank(); ++d) {
        const bool is_sliced = std::find(sliced.begin(), sliced.end(), d) != sliced.end();
        slice.starts.push_back(is_sliced ? starts[static_cast<size_t>(d)] : 0);
        slice.sizes.push_back(is_sliced ? shape[d] : kept.shape[d]);
        slice.steps.push_back(1);
        expand.shape.push_back(shape[d]);
      }
      std::vector<Attrs> steps;
      if (!sliced.empty()) steps.push_back(Attrs::of(slice));
      if (sliced.size() != varying.size()) steps.push_back(Attrs::of(expand));
      (*changes)[k].constants[id] = [kept, steps](Graph& graph,
                                                  const Source& source) -> Outcome<ValueId> {
        ValueId last = graph.add_constant(kept.name, kept.dtype, kept.shape, kept.constant);
        for (const Attrs& step : steps) {
          auto value = graph.add(step, {last}, source);
          if (!value.ok()) return value;
          last = *value;
        }
        return last;
      };
    }
  }

  /// Positions: at index i, j, ... it is c + a*i + b*j + ..., with numbers that may depend on
  /// sizes.
  bool replace_by_ramps(ValueId id, std::vector<Changes>* changes) const {
    std::vector<std::vector<int64_t>> numbers;  // by graph: c, then by dim
    for (const Graph& graph : graphs_) {
      auto ramp = ramp_of(graph.value(id));
      if (!ramp) return false;
      numbers.push_back(std::move(*ramp));
    }
    const Shape& largest = graphs_.back().value(id).shape;
    const DType dtype = base().value(id).dtype;
    for (size_t k = 0; k < graphs_.size(); ++k) {
      const Shape shape = value(k, id).shape;
      (*changes)[k].constants[id] = [shape, largest, dtype, ramp = numbers[k]](
                                        Graph& graph, const Source& source) -> Outcome<ValueId> {
        auto whole = add_ramps(graph, source, shape, largest, ramp);
        if (!whole.ok() || dtype == DType::kInt64) return whole;
        fb::CastT cast;
        cast.to = static_cast<fb::DType>(dtype);
        return graph.add(Attrs::of(cast), {*whole}, source);
      };
    }
    return true;
  }

  /// A few numbers, each by itself.
  bool replace_by_elements(ValueId id, std::vector<Changes>* changes) const {
    constexpr int64_t kMost = 16;
    const Shape shape = base().value(id).shape;
    if (shape.numel() > kMost) return false;
    for (const Graph& graph : graphs_) {
      if (graph.value(id).shape != shape) return false;
    }
    for (size_t k = 0; k < graphs_.size(); ++k) {
      std::vector<Attrs> numbers;
      for (int64_t i = 0; i < shape.numel(); ++i)
        numbers.push_back(Attrs::of(*full_of(element_of(value(k, id), i))));
      (*changes)[k].constants[id] = [shape, numbers](Graph& graph, const Source& source) {
        return add_elements_of(graph, source, shape, numbers);
      };
    }
    return true;
  }

  static Outcome<ValueId> add_elements_of(Graph& graph, const Source& source, const Shape& shape,
                                          const std::vector<Attrs>& numbers) {
    std::vector<ValueId> made;
    for (const Attrs& number : numbers) {
      auto one = graph.add(number, {}, source);
      if (!one.ok()) return one;
      made.push_back(*one);
    }
    auto row = graph.add(Attrs::of(fb::ConcatT{}), made, source);
    if (!row.ok() || shape.rank() == 1) return row;
    return graph.add(reshape_attrs(shape), {*row}, source);
  }

  static Outcome<ValueId> add_ramps(Graph& graph, const Source& source, const Shape& shape,
                                    const Shape& largest, const std::vector<int64_t>& ramp) {
    const auto number = [&](const Shape& of, int64_t value) {
      fb::FullT full;
      full.dtype = fb::DType::Int64;
      full.shape.assign(of.begin(), of.end());
      full.integer = value;
      return graph.add(Attrs::of(full), {}, source);
    };
    const auto binary = [&](fb::BinaryFn fn, ValueId a, ValueId b) {
      fb::BinaryT attrs;
      attrs.fn = fn;
      return graph.add(Attrs::of(attrs), {a, b}, source);
    };
    auto sum = number(shape, ramp[0]);
    for (int d = 0; sum.ok() && d < shape.rank(); ++d) {
      if (largest[d] < 2) continue;
      std::vector<int64_t> positions(static_cast<size_t>(largest[d]));
      std::iota(positions.begin(), positions.end(), 0);
      Shape column = shape;
      fb::SliceT slice;
      for (int e = 0; e < shape.rank(); ++e) {
        column[e] = e == d ? largest[d] : 1;
        slice.starts.push_back(0);
        slice.sizes.push_back(e == d ? shape[d] : 1);
        slice.steps.push_back(1);
      }
      const ValueId all = graph.add_constant("", DType::kInt64, column, positions.data());
      auto part = graph.add(Attrs::of(slice), {all}, source);
      const auto step = number(Shape(), ramp[static_cast<size_t>(d) + 1]);
      if (!part.ok() || !step.ok()) return part.ok() ? step : part;
      part = binary(fb::BinaryFn::Mul, *part, *step);
      if (!part.ok()) return part;
      sum = binary(fb::BinaryFn::Add, *sum, *part);
    }
    return sum;
  }

  // ------------------------------------------------------------ common nodes

  /// The same as the pass of that name, for nodes that are equal at all sizes.
  Outcome<Done> eliminate_common() {
    std::map<size_t, size_t> same_as;
    std::vector<ValueId> first = first_constants();
    std::unordered_map<std::string, size_t> known;
    for (size_t n = 0; n < base().nodes().size(); ++n) {
      const Node& node = base().nodes()[n];
      std::string key = std::to_string(static_cast<int>(node.attrs.kind()));
      for (const ValueId id : node.inputs) {
        key += ' ' + std::to_string(id == kNoValue ? id : first[static_cast<size_t>(id)]);
      }
      for (const Graph& graph : graphs_) key += ';' + graph.nodes()[n].attrs.text();
      const auto [it, is_new] = known.try_emplace(key, n);
      if (is_new || !same_attributes(n, it->second)) continue;
      same_as[n] = it->second;
      const Node& earlier = base().nodes()[it->second];
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        first[static_cast<size_t>(node.outputs[k])] =
            first[static_cast<size_t>(earlier.outputs[k])];
      }
    }
    if (same_as.empty()) return Done{};
    for (Graph& graph : graphs_) {
      Changes changes;
      changes.inputs = input_shapes(graph);
      changes.same_as = same_as;
      auto copy = GraphCopy(graph, changes).run();
      if (!copy.ok()) return copy.failure();
      graph = std::move(*copy);
    }
    return check_structure();
  }

  /// Texts of attributes round reals.
  bool same_attributes(size_t n, size_t earlier) const {
    return std::all_of(graphs_.begin(), graphs_.end(), [&](const Graph& graph) {
      return graph.nodes()[n].attrs == graph.nodes()[earlier].attrs;
    });
  }

  /// For each value, the first constant with the same content; other values stand for themselves.
  /// No constant varies any more.
  std::vector<ValueId> first_constants() const {
    std::vector<ValueId> first(base().value_count());
    std::iota(first.begin(), first.end(), 0);
    std::multimap<std::pair<size_t, uint64_t>, ValueId> known;
    for (ValueId id = 0; id < static_cast<ValueId>(first.size()); ++id) {
      const Value& v = base().value(id);
      if (v.kind != ValueKind::kConstant) continue;
      const auto key =
          std::pair(v.constant.bytes, Checksum64::of(v.constant.data, v.constant.bytes));
      const auto [begin, end] = known.equal_range(key);
      const auto found = std::find_if(begin, end, [&](const auto& entry) {
        const Value& other = base().value(entry.second);
        return v.dtype == other.dtype && v.shape == other.shape &&
               same_bytes(v.constant, other.constant);
      });
      if (found == end) {
        known.emplace(key, id);
      } else {
        first[static_cast<size_t>(id)] = found->second;
      }
    }
    return first;
  }

  // ------------------------------------------------------------ numbers

  /// Programs compute with the extents of the values made so far.
  void note_extents(size_t n) {
    for (const ValueId id : base().nodes()[n].inputs) {
      if (id == kNoValue) continue;
      for (int d = 0; d < base().value(id).shape.rank(); ++d) {
        std::vector<int64_t> extents;
        for (const Graph& graph : graphs_) extents.push_back(graph.value(id).shape[d]);
        if (std::count(extents.begin(), extents.end(), extents[0]) < std::ssize(extents))
          solver_->note_extent(extents);
      }
    }
  }

  Outcome<Done> solve_numbers() {
    for (size_t n = 0; n < base().nodes().size(); ++n) LAZYRT_TRY(solve_node(n));
    return Done{};
  }

  Outcome<Done> solve_node(size_t n) {
    const Node& node = base().nodes()[n];
    bool same = true;
    for (const Graph& graph : graphs_) same = same && graph.nodes()[n].attrs == node.attrs;
    note_extents(n);
    if (same) return Done{};
    std::vector<std::vector<AttrNumber>> numbers;
    for (size_t k = 0; k < graphs_.size(); ++k) {
      const Attrs& attrs = graphs_[k].nodes()[n].attrs;
      numbers.push_back(attr_numbers(attrs));
      const bool alike =
          numbers[k].size() == numbers[0].size() && with_numbers(attrs, numbers[0]) == node.attrs;
      if (!alike)
        return differs(k, node.attrs.text() + " of " + node.attrs.name() + " is " + attrs.text(),
                       node.source);
    }
    for (size_t i = 0; i < numbers[0].size(); ++i) LAZYRT_TRY(solve_number(n, i, numbers));
    return Done{};
  }

  Outcome<Done> solve_number(size_t n, size_t i,
                             const std::vector<std::vector<AttrNumber>>& numbers) {
    const AttrNumber& first = numbers[0][i];
    std::vector<int64_t> integers;
    std::vector<double> reals;
    size_t other = 0;
    for (size_t k = 0; k < numbers.size(); ++k) {
      if (!(numbers[k][i] == first)) other = k;
      integers.push_back(numbers[k][i].integer);
      reals.push_back(numbers[k][i].real);
    }
    if (other == 0) return Done{};
    const Node& node = base().nodes()[n];
    const auto term =
        first.is_real()
            ? solver_->reals(reals, node.attrs.kind() != fb::OpAttrs::Full || is_single(n))
            : solver_->integers(integers);
    if (!term) {
      const auto number = [&](size_t k) {
        return first.is_real() ? std::to_string(reals[k]) : std::to_string(integers[k]);
      };
      return differs(other,
                     "a number of " + std::string(node.attrs.name()) + " is " + number(0) +
                         " here and " + number(other) +
                         " there, which no simple formula of the sizes gives",
                     node.source);
    }
    made_.patches_.emplace_back(static_cast<int32_t>(n), first.field, first.index, *term,
                                first.type);
    return Done{};
  }

  void keep_terms() {
    std::vector<TermId> ids;
    for (const fb::Patch& patch : made_.patches_) ids.push_back(patch.term());
    add_extents();
    std::vector<TermId*> used;
    for (TermId& id : ids) used.push_back(&id);
    for (auto& dims : extents_) {
      for (TermId& id : dims) {
        if (id >= 0) used.push_back(&id);
      }
    }
    made_.terms_.keep(used);
    for (size_t i = 0; i < ids.size(); ++i) {
      const fb::Patch& p = made_.patches_[i];
      made_.patches_[i] = fb::Patch(p.node(), p.field(), p.index(), ids[i], p.type());
    }
  }

  /// Terms of the inputs' extents that follow from a symbol.
  void add_extents() {
    TermList& terms = made_.terms_;
    for (const auto& dims : made_.shapes_.dims) {
      auto& of_input = extents_.emplace_back();
      for (const DimExtent& extent : dims) {
        const bool is_term = extent.symbol >= 0 && !extent.is_plain();
        of_input.push_back(-1);
        if (!is_term) continue;
        const TermId times = terms.make(fb::TermOp::Multiply, terms.symbol(extent.symbol),
                                        terms.integer(extent.factor));
        of_input.back() = terms.make(fb::TermOp::Add, times, terms.integer(extent.offset));
      }
    }
  }

  /// Whether the numbers of a Full were rounded to float32.
  bool is_single(size_t n) const {
    return base().value(base().nodes()[n].outputs[0]).dtype == DType::kFloat32;
  }

  void find_value_symbols() {
    Graph& graph = graphs_[0];
    for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
      std::vector<int32_t> symbols;
      for (int d = 0; d < graph.value(id).shape.rank(); ++d) symbols.push_back(symbol_of(id, d));
      graph.value(id).symbols = std::move(symbols);
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      std::vector<int32_t>& symbols = graph.value(graph.inputs()[i]).symbols;
      symbols.clear();
      for (size_t d = 0; d < extents_[i].size(); ++d) {
        const auto first_term = static_cast<int32_t>(made_.shapes_.symbols.size());
        symbols.push_back(extents_[i][d] < 0 ? made_.shapes_.dims[i][d].symbol
                                             : first_term + extents_[i][d]);
      }
    }
  }

  int symbol_of(ValueId id, int d) const {
    if (base().value(id).kind == ValueKind::kConstant || base().value(id).kind == ValueKind::kState)
      return -1;
    for (size_t s = 0; s < made_.shapes_.symbols.size(); ++s) {
      bool all = true;
      for (size_t k = 0; k < graphs_.size(); ++k)
        all = all && value(k, id).shape[d] == points_[k][s];
      if (all) return static_cast<int>(s);
    }
    return -1;
  }

  /// Checks that the solved graph gives the graphs that it was solved from.
  Outcome<Done> check_points() const {
    for (size_t k = 1; k < graphs_.size(); ++k) {
      auto again = made_.at(points_[k]);
      if (!again.ok()) return again.failure();
      for (ValueId id = 0; id < static_cast<ValueId>(again->value_count()); ++id) {
        if (again->value(id).shape == value(k, id).shape) continue;
        return Failure{Error::kInternal, "at " + made_.shapes_.text(points_[k]) + " value " +
                                             std::to_string(id) + " is " +
                                             shape_text(again->value(id).shape).text +
                                             " instead of " + shape_text(value(k, id).shape).text};
      }
    }
    return Done{};
  }

  std::vector<Graph> graphs_;
  const std::vector<SizePoint>& points_;
  DynamicGraph made_;
  mutable Source place_;  ///< of the last failure
  std::optional<SizeSolver> solver_;
  std::vector<std::vector<TermId>> extents_;  ///< by input and dim: -1 = no term
};

Outcome<DynamicGraph> unify_graphs(std::vector<Graph> graphs, const DynamicShapes& shapes,
                                   const std::vector<SizePoint>& points, UnifyHints* hints) {
  Unifier unifier(std::move(graphs), shapes, points);
  auto made = unifier.run();
  *hints = made.ok() ? UnifyHints() : unifier.hints();
  return made;
}

Outcome<Graph> DynamicGraph::at(const SizePoint& point) const {
  const auto failed = [&](const std::string& text) {
    return Failure{Error::kUnsupported, "at " + shapes_.text(point) + ": " + text};
  };
  Changes changes;
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    Shape shape = model_.value(model_.inputs()[i]).shape;
    for (int d = 0; d < shape.rank(); ++d) {
      const DimExtent& extent = shapes_.dims[i][static_cast<size_t>(d)];
      if (extent.symbol >= 0) shape[d] = extent.at(point);
    }
    changes.inputs.push_back(shape);
  }
  for (const fb::Patch& patch : patches_) {
    const auto number = terms_.evaluate(patch.term(), point);
    if (!number) return failed(terms_.text(patch.term(), shapes_.names()) + " overflows");
    changes.numbers[static_cast<size_t>(patch.node())].push_back(
        {patch.field(), patch.index(), patch.type(), number->integer, number->as_real()});
  }
  auto copy = GraphCopy(model_, changes).run();
  if (!copy.ok()) return failed(copy.failure().text);
  return copy;
}

std::vector<std::string> DynamicGraph::text() const {
  std::vector<std::string> lines;
  for (const fb::Patch& patch : patches_) {
    const Node& node = model_.nodes()[static_cast<size_t>(patch.node())];
    std::string line = node.attrs.name();
    line += ' ';
    line += std::to_string(patch.node());
    line += ": ";
    line += patch_text(node.attrs.kind(), patch, terms_, shapes_.names());
    const std::string place = node.source.text();
    if (!place.empty()) line.append("  # ").append(place);
    lines.push_back(line);
  }
  return lines;
}

std::optional<BadPoint> try_shapes(const DynamicGraph& graph, const SizePoint& base, int64_t most) {
  const auto& symbols = graph.shapes().symbols;
  std::mt19937_64 random(1);
  const auto tried = [&](const SizePoint& point) -> std::optional<BadPoint> {
    const auto made = graph.at(point);
    if (made.ok()) return std::nullopt;
    return BadPoint{point, made.failure()};
  };
  for (size_t s = 0; s < symbols.size(); ++s) {
    for (int64_t i = 0; i < std::min(most, symbols[s].count()); ++i) {
      SizePoint point = base;
      point[s] = symbols[s].count() <= most ? symbols[s].nth(i) : drawn(symbols[s], random);
      if (auto bad = tried(point)) return bad;
    }
  }
  for (int64_t i = 0; symbols.size() > 1 && i < most; ++i) {
    SizePoint point;
    for (const DimSymbol& symbol : symbols) point.push_back(drawn(symbol, random));
    if (auto bad = tried(point)) return bad;
  }
  return std::nullopt;
}

}  // namespace lazyrt
