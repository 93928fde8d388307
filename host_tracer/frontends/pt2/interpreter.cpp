#include "host_tracer/frontends/pt2/interpreter.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "host_tracer/frontends/pt2/arguments.h"
#include "host_tracer/frontends/pt2/source_map.h"
#include "host_tracer/frontends/shared/lazy_numbers.h"
#include "host_tracer/frontends/shared/takes_tensors.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

namespace ex = torch::_export;
using Tag = ex::Argument::Tag;

constexpr std::string_view kOps = "torch.ops.";
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Of the exporter's own: shapes are static.
bool is_dropped(const std::string& target) {
  static const std::unordered_set<std::string> names = {
      "torch.ops.aten._assert_tensor_metadata.default",
      "torch.ops.aten.sym_constrain_range.default",
      "torch.ops.aten.sym_constrain_range_for_size.default",
  };
  return names.count(target) != 0;
}

/// Higher-order operators that only wrap a sub-graph: (settings…, graph, operands…).
bool is_inlined(const std::string& target) {
  return target == "torch.ops.higher_order.wrap_with_set_grad_enabled" ||
         target == "torch.ops.higher_order.wrap_with_autocast" ||
         target == "torch.ops.higher_order.wrap_activation_checkpoint";
}

// ---------------------------------------------------------------- numbers

using Numbers = std::vector<c10::IValue>;

bool is_lazy_value(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().device().is_lazy();
}

bool any_lazy(const Numbers& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& v) { return is_lazy_value(v); });
}

Numbers plain_numbers(Numbers values) {
  for (c10::IValue& value : values) {
    if (is_lazy_value(value)) value = plain_number(value.toTensor());
  }
  return values;
}
using NumberFn = c10::IValue (*)(const Numbers&);

bool both_int(const Numbers& n) { return n[0].isInt() && n[1].isInt(); }
double real(const c10::IValue& v) { return v.toScalar().toDouble(); }

int64_t whole(double v) { return static_cast<int64_t>(std::llround(v)); }

int64_t floor_div(int64_t a, int64_t b) {
  TORCH_CHECK(b != 0, "integer division by zero");
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t rest_of(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

/// Python's remainder has the sign of the divisor; its quotient is that of the dividend without the
/// remainder, so that 6 // 0.1 is 59.
double rest_of(double a, double b) {
  TORCH_CHECK(b != 0, "division by zero");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) == (b < 0) ? rest : rest + b;
}

double floor_div(double a, double b) {
  const double exact = (a - rest_of(a, b)) / b;
  return exact == 0 ? std::copysign(0.0, a / b) : std::nearbyint(exact);
}

constexpr const char* kBeyond =
    "an integer does not fit into 64 bits; Python's integers have no limit";

int64_t add(int64_t a, int64_t b) {
  int64_t made = 0;
  TORCH_CHECK(!__builtin_add_overflow(a, b, &made), kBeyond);
  return made;
}

int64_t subtract(int64_t a, int64_t b) {
  int64_t made = 0;
  TORCH_CHECK(!__builtin_sub_overflow(a, b, &made), kBeyond);
  return made;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t made = 0;
  TORCH_CHECK(!__builtin_mul_overflow(a, b, &made), kBeyond);
  return made;
}

/// By squares. REQUIRES: exponent >= 0.
int64_t power(int64_t base, int64_t exponent) {
  if (exponent == 0) return 1;
  if (exponent % 2 == 1) return multiply(base, power(base, exponent - 1));
  const int64_t root = power(base, exponent / 2);
  return multiply(root, root);
}

double add(double a, double b) { return a + b; }
double subtract(double a, double b) { return a - b; }
double multiply(double a, double b) { return a * b; }

template <typename Fn>
c10::IValue arithmetic(const Numbers& n, const Fn& fn) {
  if (both_int(n)) return fn(n[0].toInt(), n[1].toInt());
  return fn(real(n[0]), real(n[1]));
}

/// Python operators on sizes, by the name that export gives them.
const std::unordered_map<std::string, NumberFn>& number_functions() {
  static const std::unordered_map<std::string, NumberFn> table = {
      {"add",
       [](const Numbers& n) { return arithmetic(n, [](auto a, auto b) { return add(a, b); }); }},
      {"sub",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return subtract(a, b); });
       }},
      {"mul",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return multiply(a, b); });
       }},
      {"neg",
       [](const Numbers& n) {
         return n[0].isInt() ? c10::IValue(subtract(int64_t{0}, n[0].toInt()))
                             : c10::IValue(-real(n[0]));
       }},
      {"truediv",
       [](const Numbers& n) {
         TORCH_CHECK(real(n[1]) != 0, "division by zero");
         return c10::IValue(real(n[0]) / real(n[1]));
       }},
      {"floordiv",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return floor_div(a, b); });
       }},
      {"mod",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return rest_of(a, b); });
       }},
      {"pow",
       [](const Numbers& n) {
         const bool is_whole = both_int(n) && n[1].toInt() >= 0;
         return is_whole ? c10::IValue(power(n[0].toInt(), n[1].toInt()))
                         : c10::IValue(std::pow(real(n[0]), real(n[1])));
       }},
      {"eq", [](const Numbers& n) { return c10::IValue(real(n[0]) == real(n[1])); }},
      {"ne", [](const Numbers& n) { return c10::IValue(real(n[0]) != real(n[1])); }},
      {"lt", [](const Numbers& n) { return c10::IValue(real(n[0]) < real(n[1])); }},
      {"le", [](const Numbers& n) { return c10::IValue(real(n[0]) <= real(n[1])); }},
      {"gt", [](const Numbers& n) { return c10::IValue(real(n[0]) > real(n[1])); }},
      {"ge", [](const Numbers& n) { return c10::IValue(real(n[0]) >= real(n[1])); }},
      {"and_", [](const Numbers& n) { return c10::IValue(n[0].toBool() && n[1].toBool()); }},
      {"or_", [](const Numbers& n) { return c10::IValue(n[0].toBool() || n[1].toBool()); }},
      {"not_", [](const Numbers& n) { return c10::IValue(!n[0].toBool()); }},
      {"sym_not", [](const Numbers& n) { return c10::IValue(!n[0].toBool()); }},
      {"sym_float", [](const Numbers& n) { return c10::IValue(real(n[0])); }},
      {"sym_max",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return std::max(a, b); });
       }},
      {"sym_min",
       [](const Numbers& n) {
         return arithmetic(n, [](auto a, auto b) { return std::min(a, b); });
       }},
      {"ceil", [](const Numbers& n) { return c10::IValue(whole(std::ceil(real(n[0])))); }},
      {"floor", [](const Numbers& n) { return c10::IValue(whole(std::floor(real(n[0])))); }},
      {"trunc", [](const Numbers& n) { return c10::IValue(whole(std::trunc(real(n[0])))); }},
      {"_sym_sqrt", [](const Numbers& n) { return c10::IValue(std::sqrt(real(n[0]))); }},
  };
  return table;
}

/// "_operator.add" -> "add", and the names that lazy numbers have for what export calls otherwise.
std::string number_name(const std::string& target) {
  static const std::unordered_map<std::string, std::string> names = {
      {"and_", "and"},        {"or_", "or"},      {"not_", "not"},    {"sym_not", "not"},
      {"sym_float", "float"}, {"sym_max", "max"}, {"sym_min", "min"}, {"_sym_sqrt", "sqrt"},
  };
  const std::string name = target.substr(target.rfind('.') + 1);
  const auto known = names.find(name);
  return known == names.end() ? name : known->second;
}

/// "_operator.add", "math.ceil", "torch.sym_max" and the like; nullptr for anything else.
NumberFn number_function(const std::string& target) {
  for (std::string_view prefix : {"_operator.", "operator.", "math.", "torch.", "torch._sym_"}) {
    if (!has_prefix(target, prefix) || has_prefix(target, kOps)) continue;
    const auto it = number_functions().find(target.substr(prefix.size()));
    if (it != number_functions().end()) return it->second;
  }
  return nullptr;
}

/// "torch.ops.aten.sym_size.int": sizes are known, no operator is called.
std::optional<c10::IValue> size_query(const std::string& target, const Numbers& args) {
  if (!has_prefix(target, "torch.ops.aten.sym_")) return std::nullopt;
  const at::Tensor& t = args.at(0).toTensor();
  if (target == "torch.ops.aten.sym_size.int") return t.size(args.at(1).toInt());
  if (target == "torch.ops.aten.sym_stride.int") return t.stride(args.at(1).toInt());
  if (target == "torch.ops.aten.sym_numel.default") return t.numel();
  if (target == "torch.ops.aten.sym_storage_offset.default") return t.storage_offset();
  return std::nullopt;
}

bool is_size_query(const std::string& target) {
  return target == "torch.ops.aten.sym_size.int" || target == "torch.ops.aten.sym_stride.int" ||
         target == "torch.ops.aten.sym_numel.default" ||
         target == "torch.ops.aten.sym_storage_offset.default";
}

// ---------------------------------------------------------------- operators

/// "torch.ops.aten.add.Tensor" in the dispatcher.
std::optional<c10::OperatorHandle> find_operator(const std::string& target) {
  if (!has_prefix(target, kOps)) return std::nullopt;
  const std::string path = target.substr(kOps.size());
  const size_t first = path.find('.'), last = path.rfind('.');
  if (first == std::string::npos || last == first) return std::nullopt;
  const std::string name = path.substr(0, first) + "::" + path.substr(first + 1, last - first - 1);
  const std::string overload = path.substr(last + 1);
  return c10::Dispatcher::singleton().findSchema({name, overload == "default" ? "" : overload});
}

const ex::Argument* find_input(const ex::Node& node, const std::string& name, size_t position) {
  const auto& inputs = node.get_inputs();
  for (const ex::NamedArgument& input : inputs) {
    if (input.get_name() == name) return &input.get_arg();
  }
  const bool unnamed = position < inputs.size() && inputs[position].get_name().empty();
  return unnamed ? &inputs[position].get_arg() : nullptr;
}

bool is_symbolic(const ex::Argument* arg) {
  if (!arg) return false;
  return arg->tag() == Tag::AS_SYM_INT || arg->tag() == Tag::AS_SYM_FLOAT ||
         arg->tag() == Tag::AS_SYM_BOOL;
}

torch::jit::Stack make_stack(const c10::OperatorHandle& op, const ex::Node& node,
                             const Pt2Values& values, at::Device device) {
  const c10::FunctionSchema& schema = op.schema();
  const bool factory = !takes_tensors(schema);
  torch::jit::Stack stack;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& arg = schema.arguments()[i];
    const ex::Argument* given = find_input(node, arg.name(), i);
    if (given) {
      stack.push_back(values.value_for(arg, *given, device));
    } else {
      TORCH_CHECK(arg.default_value().has_value(), "argument '", arg.name(), "' is missing");
      stack.push_back(*arg.default_value());
    }
    if (factory && arg.name() == "device" && stack.back().isNone()) stack.back() = device;
    const bool number = is_lazy_value(stack.back()) && is_symbolic(given);
    if (number && !is_number_type(arg.type())) numbers.push_back(i);
  }
  const torch::jit::Stack given = stack;
  for (const size_t i : numbers) {
    stack[i] = number_beside(given[i].toTensor(), schema, given, numbers);
  }
  return stack;
}

// ---------------------------------------------------------------- one graph

/// For each node, the names that are read for the last time there, so that eager runs hold no more
/// tensors than needed.
std::vector<std::vector<std::string>> last_uses(const ex::Graph& graph) {
  std::unordered_map<std::string, size_t> last;
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.get_nodes().size(); ++i) {
    names.clear();
    for (const auto& input : graph.get_nodes()[i].get_inputs())
      append_names(input.get_arg(), names);
    for (const auto& output : graph.get_nodes()[i].get_outputs()) append_names(output, names);
    for (const std::string& name : names) last[name] = i;
  }
  names.clear();
  for (const ex::Argument& output : graph.get_outputs()) append_names(output, names);
  for (const std::string& name : names) last.erase(name);
  std::vector<std::vector<std::string>> by_node(graph.get_nodes().size());
  for (const auto& [name, index] : last) by_node[index].push_back(name);
  return by_node;
}

void bind_output(const ex::Argument& output, const c10::IValue& value, Pt2Values& values) {
  std::vector<std::string> names;
  append_names(output, names);
  if (output.tag() == Tag::AS_TENSORS || output.tag() == Tag::AS_OPTIONAL_TENSORS ||
      output.tag() == Tag::AS_SYM_INTS) {
    const auto items = value.toListRef();
    TORCH_CHECK(items.size() == names.size(), "gives ", items.size(), " values, the graph expects ",
                names.size());
    for (size_t i = 0; i < names.size(); ++i) values.set(names[i], items[i]);
  } else if (!names.empty()) {
    values.set(names[0], value);
  }
}

void bind_outputs(const ex::Node& node, const std::vector<c10::IValue>& results,
                  Pt2Values& values) {
  const auto& outputs = node.get_outputs();
  TORCH_CHECK(outputs.size() <= results.size(), "gives ", results.size(),
              " values, the graph expects ", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) bind_output(outputs[i], results[i], values);
}

std::vector<c10::IValue> plain_arguments(const ex::Node& node, const Pt2Values& values) {
  std::vector<c10::IValue> args;
  for (const auto& input : node.get_inputs()) args.push_back(values.value_of(input.get_arg()));
  return args;
}

const ex::Graph* sub_graph(const ex::Node& node) {
  for (const auto& input : node.get_inputs()) {
    if (input.get_arg().tag() == Tag::AS_GRAPH) return &*input.get_arg().get_as_graph().get_graph();
  }
  return nullptr;
}

/// The operands of an inlined sub-graph: what follows the graph itself.
std::vector<c10::IValue> sub_graph_operands(const ex::Node& node, const Pt2Values& values) {
  std::vector<c10::IValue> operands;
  bool after = false;
  for (const auto& input : node.get_inputs()) {
    if (after) operands.push_back(values.value_of(input.get_arg()));
    after = after || input.get_arg().tag() == Tag::AS_GRAPH;
  }
  return operands;
}

std::string enabled_autocast(const ex::Node& node) {
  if (node.get_target() != "torch.ops.higher_order.wrap_with_autocast") return "";
  const ex::Argument* enabled = find_input(node, "enabled", 2);
  const bool on = !enabled || enabled->tag() != Tag::AS_BOOL || enabled->get_as_bool();
  return on ? "autocast changes dtypes as it runs; export the model without it" : "";
}

/// Why a node cannot be run, or "".
std::string refusal(const ex::Node& node) {
  const std::string& target = node.get_target();
  if (is_dropped(target) || number_function(target) || is_size_query(target)) return "";
  if (is_inlined(target)) return enabled_autocast(node);
  if (has_prefix(target, kHigherOrder)) {
    return "control flow and other higher-order operators are not supported yet";
  }
  if (find_operator(target)) return "";
  return "unknown operator (a custom one? its library is not loaded)";
}

void collect_unsupported(const ex::Graph& graph, std::vector<std::string>& lines) {
  for (const ex::Node& node : graph.get_nodes()) {
    const std::string why = refusal(node);
    if (!why.empty()) {
      const std::string where = source_of(node.get_target(), node.get_metadata()).text();
      lines.push_back(node.get_target() + (where.empty() ? "" : " at " + where) + ": " + why);
    } else if (is_inlined(node.get_target()) && sub_graph(node)) {
      collect_unsupported(*sub_graph(node), lines);
    }
  }
}

bool is_item(const std::string& target) {
  return target == "torch.ops.aten.item.default" ||
         target == "torch.ops.aten._local_scalar_dense.default";
}

bool is_assertion(const std::string& target) {
  return target == "torch.ops.aten._assert_scalar.default";
}

/// _assert_scalar(condition, message): a check, where the condition depends on values.
void assert_number(const ex::Node& node, const Pt2Values& values) {
  const Numbers args = plain_arguments(node, values);
  const std::string text = args.size() > 1 && args[1].isString() ? args[1].toStringRef() : "";
  if (is_lazy_value(args.at(0))) {
    require(args[0].toTensor(), text);
  } else {
    TORCH_CHECK(args[0].toScalar().toDouble() != 0, text);
  }
}

/// Puts lazy numbers in the places of plain ones.
bool takes_lazy_numbers(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  for (size_t i = 0; i < stack.size(); ++i) {
    if (is_number_type(schema.arguments()[i].type()) && is_lazy_value(stack[i])) return true;
  }
  return false;
}

void make_plain(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!is_number_type(schema.arguments()[i].type()) || !is_lazy_value(stack[i])) continue;
    stack[i] = plain_number(stack[i].toTensor());
  }
}

/// Runs one node; its results in order.
std::vector<c10::IValue> run_node(Pt2Interpreter& interpreter, const ex::Node& node,
                                  const Pt2Values& values, at::Device device) {
  const std::string& target = node.get_target();
  if (const NumberFn fn = number_function(target)) {
    const Numbers args = plain_arguments(node, values);
    if (!any_lazy(args)) return {fn(args)};
    if (const auto made = compute_number(NumberRules::kPython, number_name(target), args))
      return {*made};
    return {fn(plain_numbers(args))};
  }
  if (is_item(target)) {
    const c10::IValue self = plain_arguments(node, values).at(0);
    const bool stays = is_lazy_value(self) && !self.toTensor().is_complex();
    if (stays) return {lazy_number(self.toTensor())};
  }
  if (is_assertion(target)) {
    assert_number(node, values);
    return {};
  }
  if (is_size_query(target)) {
    const c10::IValue answer = *size_query(target, plain_arguments(node, values));
    const bool by_place = target == "torch.ops.aten.sym_stride.int" ||
                          target == "torch.ops.aten.sym_storage_offset.default";
    return {by_place ? interpreter.copies().told(answer) : answer};
  }
  if (is_inlined(target)) {
    const ex::Graph* graph = sub_graph(node);
    TORCH_CHECK(graph, "has no sub-graph");
    return interpreter.run(*graph, sub_graph_operands(node, values));
  }
  const auto op = find_operator(target);
  TORCH_CHECK(op, "unknown operator");
  torch::jit::Stack stack = make_stack(*op, node, values, device);
  if (takes_lazy_numbers(op->schema(), stack)) {
    if (call_with_numbers(op->schema(), &stack)) return stack;
    make_plain(op->schema(), stack);
  }
  const std::string& name = op->schema().name();
  if (name == "aten::as_strided") interpreter.copies().check_place(stack.at(0).toTensor());
  const torch::jit::Stack arguments = Copies::may_copy(name) ? stack : torch::jit::Stack();
  if (!Copies::call_as_view(op->operator_name(), stack)) op->callBoxed(stack);
  if (!arguments.empty()) stack[0] = interpreter.copies().take(arguments, stack[0].toTensor());
  return stack;
}

/// Integer tensors and Python's numbers give another type under another default dtype.
void check_types(const ex::Graph& graph, const ex::Node& node, const Pt2Values& values) {
  std::vector<std::string> names;
  for (const auto& output : node.get_outputs()) append_names(output, names);
  for (const std::string& name : names) {
    const auto meta = graph.get_tensor_values().find(name);
    if (meta == graph.get_tensor_values().end()) continue;
    const c10::IValue& value = values.get(name);
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::ScalarType noted = scalar_type_of(meta->second.get_dtype(), name);
    const at::ScalarType made = value.toTensor().scalar_type();
    TORCH_CHECK(made == noted || !at::isFloatingType(noted), "gives ", made, ", the file says ",
                noted, ": export the program under float32 as the default dtype of torch");
  }
}

/// Names node and line in an error that does not do so yet.
void add_place(c10::Error& error, const ex::Node& node) {
  const Source source = source_of(node.get_target(), node.get_metadata());
  const std::string where = source.text(), text = error.what_without_backtrace();
  const bool placed = !where.empty() && text.find(where) != std::string::npos;
  if (placed) return;
  error.add_context("in " + node.get_target() + (where.empty() ? "" : " at " + where));
}

}  // namespace

std::vector<c10::IValue> Pt2Interpreter::run(const ex::Graph& graph,
                                             const std::vector<c10::IValue>& inputs) {
  TORCH_CHECK(graph.get_inputs().size() == inputs.size(), "a graph has ", graph.get_inputs().size(),
              " inputs, ", inputs.size(), " are given");
  Pt2Values values;
  for (size_t i = 0; i < inputs.size(); ++i) bind_output(graph.get_inputs()[i], inputs[i], values);
  const auto released = last_uses(graph);
  ++depth_;
  for (size_t i = 0; i < graph.get_nodes().size(); ++i) {
    const ex::Node& node = graph.get_nodes()[i];
    if (!is_dropped(node.get_target())) {
      const SourceScope scope(source_of(node.get_target(), node.get_metadata()));
      try {
        bind_outputs(node, run_node(*this, node, values, device_), values);
        check_types(graph, node, values);
      } catch (c10::Error& e) {
        add_place(e, node);
        throw;
      }
    }
    for (const std::string& name : released[i]) values.erase(name);
    if (depth_ == 1 && on_node_) on_node_();
  }
  --depth_;
  std::vector<c10::IValue> outputs;
  for (const ex::Argument& output : graph.get_outputs()) {
    outputs.push_back(values.value_of(output));
    const bool leaves = depth_ == 0 && is_symbolic(&output) && is_lazy_value(outputs.back());
    if (leaves) outputs.back() = plain_number(outputs.back().toTensor());
  }
  return outputs;
}

std::vector<std::string> unsupported_nodes(const ex::Graph& graph) {
  std::vector<std::string> lines;
  collect_unsupported(graph, lines);
  return lines;
}

bool asks_for_strides(const ex::Graph& graph) {
  for (const ex::Node& node : graph.get_nodes()) {
    const std::string& target = node.get_target();
    const ex::Graph* inner = is_inlined(target) ? sub_graph(node) : nullptr;
    const bool asks = has_prefix(target, "torch.ops.aten.as_strided") ||
                      has_prefix(target, "torch.ops.aten.sym_stride") ||
                      has_prefix(target, "torch.ops.aten.sym_storage_offset") ||
                      has_prefix(target, "torch.ops.aten.is_contiguous");
    if (asks || (inner && asks_for_strides(*inner))) return true;
  }
  return false;
}

}  // namespace lazyrt
