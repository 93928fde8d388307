#include "host_tracer/compile/program_alignment.h"

#include <algorithm>
#include <map>

#include "host_tracer/aten/import.h"
#include "host_tracer/emit/texts.h"
#include "runtime/bundle/reader.h"

namespace lazyrt {
namespace {

std::string key_of_result(DType dtype, const Shape& shape, bool any_size) {
  const std::string extents =
      any_size ? "/" + std::to_string(shape.rank()) : std::string(shape_text(shape).text);
  return std::string(" ") + dtype_name(dtype) + extents;
}

std::string key_of_source(const std::string& aten, const std::string& module,
                          const std::string& file, int line) {
  return aten + "|" + module + "|" + file + "|" + std::to_string(line);
}

/// Numbers for sources; equal sources have equal numbers. A source of a bundle is read once,
/// however many nodes name it.
class SourceNumbers {
 public:
  std::string of(const Source& source) {
    const Source portable = portable_source(source);
    return number(key_of_source(portable.aten, portable.module_path, portable.file, portable.line));
  }
  /// Those of a program, in its order.
  std::vector<std::string> of(const fb::Method& program) {
    std::vector<std::string> numbers;
    for (uint32_t i = 0; i < count_of(program.sources()); ++i) {
      const fb::Source& source = *program.sources()->Get(i);
      numbers.push_back(number(key_of_source(text_of(source.aten()), text_of(source.module_path()),
                                             text_of(source.file()), source.line())));
    }
    return numbers;
  }
  std::string none() { return number(key_of_source("", "", "", 0)); }

 private:
  std::string number(const std::string& key) {
    return "#" + std::to_string(numbers_.try_emplace(key, numbers_.size()).first->second);
  }
  std::map<std::string, size_t> numbers_;
};

std::vector<std::string> keys_of(const Graph& graph, bool any_size, SourceNumbers* sources) {
  std::vector<std::string> keys;
  for (const Node& node : graph.nodes()) {
    std::string key = std::to_string(static_cast<int>(node.attrs.kind())) + "(" +
                      std::to_string(node.inputs.size()) + ")" + sources->of(node.source);
    for (const ValueId id : node.outputs)
      key += key_of_result(graph.value(id).dtype, graph.value(id).shape, any_size);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> keys_of(const fb::Method& program, bool any_size, SourceNumbers* sources) {
  const std::vector<std::string> numbers = sources->of(program);
  const std::string none = sources->none();
  std::vector<std::string> keys;
  for (uint32_t n = 0; n < count_of(program.nodes()); ++n) {
    const fb::Node& node = *program.nodes()->Get(n);
    std::string key = std::to_string(static_cast<int>(node.op_type())) + "(" +
                      std::to_string(count_of(node.inputs())) + ")" +
                      (node.source() < 0 ? none : numbers[static_cast<size_t>(node.source())]);
    for (const int32_t id : ints_of(node.outputs())) {
      const TensorSpec spec = spec_of(*program.values()->Get(static_cast<uint32_t>(id)));
      key += key_of_result(spec.dtype, spec.shape, any_size);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

/// Pairs of the longest common subsequence: for each element of `a`, one of `b`.
class CommonSequence {
 public:
  CommonSequence(const std::vector<std::string>& a, const std::vector<std::string>& b)
      : a_(a), b_(b), pairs_(a.size()) {}

  /// False: they differ in too many places for a table of all pairs.
  bool solve() {
    size_t begin = 0, a_end = a_.size(), b_end = b_.size();
    while (begin < std::min(a_end, b_end) && a_[begin] == b_[begin]) {
      pairs_[begin] = begin;
      ++begin;
    }
    while (a_end > begin && b_end > begin && a_[a_end - 1] == b_[b_end - 1])
      pairs_[--a_end] = --b_end;
    constexpr size_t kMostCells = size_t{1} << 26;
    if ((a_end - begin + 1) * (b_end - begin + 1) > kMostCells) return false;
    solve_between(begin, a_end, b_end);
    return true;
  }
  const std::vector<std::optional<size_t>>& pairs() const { return pairs_; }

 private:
  void solve_between(size_t begin, size_t a_end, size_t b_end) {
    const size_t rows = a_end - begin, width = b_end - begin + 1;
    std::vector<uint32_t> length((rows + 1) * width, 0);  // of what follows i and j
    const auto at = [&](size_t i, size_t j) -> uint32_t& { return length[i * width + j]; };
    for (size_t i = rows; i-- > 0;) {
      for (size_t j = width - 1; j-- > 0;) {
        at(i, j) = a_[begin + i] == b_[begin + j] ? at(i + 1, j + 1) + 1
                                                  : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
    for (size_t i = 0, j = 0; i < rows && j + 1 < width;) {
      if (a_[begin + i] == b_[begin + j]) {
        pairs_[begin + i++] = begin + j++;
      } else {
        ++(at(i + 1, j) >= at(i, j + 1) ? i : j);
      }
    }
  }

  const std::vector<std::string>& a_;
  const std::vector<std::string>& b_;
  std::vector<std::optional<size_t>> pairs_;
};

/// Where a value comes from: a node and the number of its result, an input, a state; constants are
/// not distinguished.
struct Maker {
  int kind = 0;
  size_t node = 0;
  size_t result = 0;
  bool operator==(const Maker&) const = default;
};
constexpr int kConstant = 1, kInput = 2, kState = 3, kMadeByNode = 4, kAbsent = 5;

std::vector<Maker> makers_of(const Graph& graph) {
  std::vector<Maker> makers(graph.value_count());
  for (size_t id = 0; id < makers.size(); ++id) makers[id].kind = kConstant;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    makers[static_cast<size_t>(graph.inputs()[i])] = {kInput, i, 0};
  for (size_t k = 0; k < graph.states().size(); ++k)
    makers[static_cast<size_t>(graph.states()[k].value)] = {kState, k, 0};
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const auto& outputs = graph.nodes()[n].outputs;
    for (size_t r = 0; r < outputs.size(); ++r)
      makers[static_cast<size_t>(outputs[r])] = {kMadeByNode, n, r};
  }
  return makers;
}

std::vector<Maker> makers_of(const fb::Method& program) {
  std::vector<Maker> makers(count_of(program.values()));
  for (Maker& maker : makers) maker.kind = kConstant;
  for (uint32_t i = 0; i < count_of(program.inputs()); ++i)
    makers[static_cast<size_t>(program.inputs()->Get(i)->value())] = {kInput, i, 0};
  for (uint32_t k = 0; k < count_of(program.states()); ++k)
    makers[static_cast<size_t>(program.states()->Get(k)->value())] = {kState, k, 0};
  for (uint32_t n = 0; n < count_of(program.nodes()); ++n) {
    const auto outputs = ints_of(program.nodes()->Get(n)->outputs());
    for (size_t r = 0; r < outputs.size(); ++r)
      makers[static_cast<size_t>(outputs[r])] = {kMadeByNode, n, r};
  }
  return makers;
}

using Pairs = std::vector<std::optional<size_t>>;

/// Whether the operands of both nodes may be the same. Nothing is known about nodes without a pair.
class OperandCheck {
 public:
  /// `pairs`: for each node of the program, one of the graph.
  OperandCheck(const Graph& graph, const fb::Method& program, const Pairs& pairs)
      : graph_(graph),
        program_(program),
        pairs_(pairs),
        is_paired_(graph.nodes().size(), false),
        theirs_(makers_of(graph)),
        ours_(makers_of(program)) {
    for (const auto& pair : pairs) {
      if (pair) is_paired_[*pair] = true;
    }
  }

  /// REQUIRES: the node has a pair.
  bool agrees(size_t node) const {
    const auto inputs = ints_of(program_.nodes()->Get(static_cast<uint32_t>(node))->inputs());
    const std::vector<ValueId>& wanted = graph_.nodes()[*pairs_[node]].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!may_be_same(maker(ours_, inputs[i]), maker(theirs_, wanted[i]))) return false;
    }
    return true;
  }

 private:
  static Maker maker(const std::vector<Maker>& makers, int32_t id) {
    if (id < 0) return {kAbsent, 0, 0};
    return makers[static_cast<size_t>(id)];
  }

  bool may_be_same(Maker ours, const Maker& theirs) const {
    if (theirs.kind == kMadeByNode && !is_paired_[theirs.node]) return true;
    if (ours.kind == kMadeByNode) {
      if (!pairs_[ours.node]) return true;
      ours.node = *pairs_[ours.node];
    }
    return ours == theirs;
  }

  const Graph& graph_;
  const fb::Method& program_;
  const Pairs& pairs_;
  std::vector<bool> is_paired_;  ///< by node of the graph
  const std::vector<Maker> theirs_, ours_;
};

}  // namespace

Outcome<Graph> make_graph(const Trace& trace, const OpTable& ops, const Pipeline& pipeline,
                          bool any_size) {
  Outcome<Graph> graph = import_trace(trace, ops, nullptr, any_size);
  if (!graph.ok()) return graph;
  auto passes = run_pipeline(*graph, pipeline, {});
  if (!passes.ok()) return passes.failure();
  graph->remove_dead();
  graph->compact();
  complete_origins(*graph);
  return graph;
}

ProgramAlignment align_program(const Graph& graph, const fb::Method& program, bool any_size) {
  SourceNumbers sources;
  const std::vector<std::string> ours = keys_of(program, any_size, &sources);
  const std::vector<std::string> theirs = keys_of(graph, any_size, &sources);
  CommonSequence common(ours, theirs);
  const bool solved = common.solve();
  ProgramAlignment aligned;
  aligned.node = common.pairs();
  aligned.reason.resize(ours.size());
  const OperandCheck operands(graph, program, common.pairs());
  size_t pairs = 0;
  for (size_t n = 0; n < ours.size(); ++n) {
    if (!aligned.node[n]) {
      aligned.reason[n] = solved ? "a new export of the model has no such node"
                                 : "a new export of the model is another program";
    } else if (!operands.agrees(n)) {
      aligned.node[n].reset();
      aligned.reason[n] = "a new export of the model gives it other operands";
    } else {
      ++pairs;
    }
  }
  aligned.is_exact = pairs == ours.size() && pairs == theirs.size();
  return aligned;
}

}  // namespace lazyrt
