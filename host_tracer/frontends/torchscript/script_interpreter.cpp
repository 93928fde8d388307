#include "host_tracer/frontends/torchscript/script_interpreter.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/Dict.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <unordered_set>

#include "host_tracer/frontends/shared/clone_in_place.h"
#include "host_tracer/frontends/shared/lazy_numbers.h"
#include "host_tracer/frontends/shared/takes_tensors.h"

namespace lazyrt {
namespace {

using c10::IValue;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;
namespace aten = c10::aten;
namespace attr = c10::attr;
namespace prim = c10::prim;

constexpr size_t kMaxCalls = 500;

std::string kind_of(const Node* node) { return node->kind().toQualString(); }

bool is_lazy(const at::Tensor& t) { return t.defined() && t.device().is_lazy(); }

bool any_tensor(const Stack& stack, bool (*wanted)(const at::Tensor&)) {
  for (const IValue& value : stack) {
    if (value.isTensor() && value.toTensor().defined() && wanted(value.toTensor())) return true;
    if (!value.isTensorList()) continue;
    for (const at::Tensor& t : value.toTensorVector()) {
      if (t.defined() && wanted(t)) return true;
    }
  }
  return false;
}

/// Made of Python numbers by the scripting runtime itself, on the CPU.
bool makes_tensor_of_numbers(const std::string& kind) {
  return kind == "aten::tensor" || kind == "aten::as_tensor";
}

bool asks_for_strides(const std::string& kind) {
  return kind == "aten::is_contiguous" || kind == "aten::stride" ||
         kind == "aten::storage_offset" || kind == "aten::is_non_overlapping_and_dense" ||
         kind == "aten::is_strides_like_format";
}

bool asks_for_gradients(const std::string& kind) {
  return kind == "prim::requires_grad" || kind == "aten::is_leaf" || kind == "aten::retains_grad" ||
         kind == "aten::output_nr";
}

/// What a tensor is beside its values, strides and gradients.
bool asks_for_facts(const std::string& kind) {
  return kind == "prim::grad" || kind == "aten::is_inference" || kind == "aten::is_neg" ||
         kind == "aten::is_pinned";
}

// ---------------------------------------------------------------- numbers

/// Whether it is a number that stays in the graph: see lazy_numbers.h.
bool is_lazy_number(const Value* value, const IValue& given) {
  return given.isTensor() && is_number_type(value->type()) && is_lazy(given.toTensor());
}

bool has_lazy_numbers(const Node* node, const Stack& stack) {
  for (size_t i = 0; i < node->inputs().size() && i < stack.size(); ++i) {
    if (is_lazy_number(node->input(i), stack[i])) return true;
  }
  return false;
}

/// The number of a tensor: int(t), float(t), t.item() and what the compiler puts in for them.
bool takes_number_out(const std::string& kind) {
  return kind == "aten::item" || kind == "aten::Int" || kind == "aten::Float" ||
         kind == "aten::IntImplicit" || kind == "aten::FloatImplicit" ||
         kind == "aten::ScalarImplicit";
}

/// Whether the tensor's number stays in the graph: truth values are guarded at once, and complex
/// numbers are plain.
bool stays_in_graph(const at::Tensor& tensor) {
  return tensor.scalar_type() != at::kBool && !tensor.is_complex();
}

bool has_complex_numbers(const Stack& stack) {
  return std::any_of(stack.begin(), stack.end(),
                     [](const IValue& value) { return value.isComplexDouble(); });
}

/// What a branch gets for a bool of the program: the plain one.
IValue truth_of(const Value* value, const IValue& given) {
  const bool truth = value->type()->kind() == c10::TypeKind::BoolType && given.isTensor();
  return truth ? IValue(given.toTensor().item()) : given;
}

/// Operators on numbers, by their Python names where those are others.
std::string function_name(const std::string& kind) {
  static const std::unordered_map<std::string, std::string> names = {
      {"aten::Int", "int"},       {"aten::Float", "float"}, {"aten::div", "truediv"},
      {"aten::remainder", "mod"}, {"prim::abs", "abs"},     {"prim::min", "min"},
      {"prim::max", "max"},       {"aten::__not__", "not"}, {"aten::Bool", "bool"},
  };
  const auto known = names.find(kind);
  if (known != names.end()) return known->second;
  return kind.substr(kind.find("::") + 2);
}

bool all_numbers(const Node* node) {
  for (const Value* input : node->inputs()) {
    if (!is_number_type(input->type())) return false;
  }
  return true;
}

bool raises(const Block* block) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == prim::RaiseException) return true;
  }
  return false;
}

/// Whether a value's only use is to raise where it is not `seen`.
bool raises_otherwise(const Value* value, bool seen) {
  if (value->uses().size() != 1) return false;
  const Node* user = value->uses()[0].user;
  if (user->kind() == prim::If) return raises(user->blocks().at(seen ? 1 : 0));
  return kind_of(user) == "aten::__not__" && raises_otherwise(user->output(), !seen);
}

// ---------------------------------------------------------------- containers

Stack inputs_of(const Node* node, const std::unordered_map<const Value*, IValue>& env) {
  Stack stack;
  for (const Value* input : node->inputs()) {
    const auto it = env.find(input);
    TORCH_CHECK(it != env.end(), "the graph reads %", input->debugName(), " before it is made");
    stack.push_back(it->second);
  }
  return stack;
}

/// LibTorch's executor (CanonicalizeOps) takes a constant of no dims for a number there: it does
/// not make integers doubles. Undefined elsewhere.
at::Tensor constant_number(const Node* node) {
  static const std::unordered_set<c10::Symbol> kOps = {aten::add, aten::sub, aten::mul, aten::div};
  if (kOps.count(node->kind()) == 0 || node->inputs().size() < 2) return {};
  const auto constant = torch::jit::toIValue(node->input(1));
  if (!constant || !constant->isTensor() || constant->toTensor().dim() > 0) return {};
  return at::native::wrapped_scalar_tensor(constant->toTensor().item());
}

IValue make_list(const Node* node, const Stack& items) {
  c10::TypePtr type = node->output()->type()->expectRef<c10::ListType>().getElementType();
  // Operators know this type by its address, and a file that is read has one of its own.
  const c10::TypePtr known = c10::getTypePtr<std::optional<at::Tensor>>();
  if (*type == *known) type = known;
  c10::impl::GenericList list(type);
  for (const IValue& item : items) list.push_back(item);
  return list;
}

IValue make_dict(const Node* node, const Stack& items) {
  const auto& type = node->output()->type()->expectRef<c10::DictType>();
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  for (size_t i = 0; i + 1 < items.size(); i += 2) dict.insert_or_assign(items[i], items[i + 1]);
  return dict;
}

IValue make_tuple(const Node* node, Stack items) {
  const auto type = node->output()->type()->expect<c10::TupleType>();
  return type->schema() ? c10::ivalue::Tuple::createNamed(std::move(items), type)
                        : c10::ivalue::Tuple::create(std::move(items));
}

IValue slice_tuple(const Node* node, const IValue& tuple) {
  const auto& items = tuple.toTupleRef().elements();
  return c10::ivalue::Tuple::create(
      std::vector<IValue>(items.begin() + node->i(attr::beg), items.begin() + node->i(attr::end)));
}

Stack unpack(const Node* node, const IValue& value) {
  const Stack items =
      value.isTuple() ? value.toTupleRef().elements().vec() : Stack(value.toListRef().vec());
  TORCH_CHECK(items.size() == node->outputs().size(), "expected ", node->outputs().size(),
              " elements to unpack, there are ", items.size());
  return items;
}

IValue make_object(const Node* node) {
  const auto type = node->output()->type()->expect<c10::ClassType>();
  return c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type),
                                     type->numAttributes());
}

bool is_instance(const Node* node, const IValue& value) {
  for (const c10::TypePtr& type : node->tys(attr::types)) {
    if (value.type()->isSubtypeOf(*type)) return true;
  }
  return false;
}

/// What a node makes of its inputs alone, without operators; false for every other node.
bool make_value(const Node* node, const Stack& in, Stack& out) {
  switch (node->kind()) {
    case prim::ListConstruct:
      out = {make_list(node, in)};
      return true;
    case prim::DictConstruct:
      out = {make_dict(node, in)};
      return true;
    case prim::TupleConstruct:
      out = {make_tuple(node, in)};
      return true;
    case prim::TupleSlice:
      out = {slice_tuple(node, in.at(0))};
      return true;
    case prim::TupleUnpack:
    case prim::ListUnpack:
      out = unpack(node, in.at(0));
      return true;
    case prim::CreateObject:
      out = {make_object(node)};
      return true;
    case prim::isinstance:
      out = {is_instance(node, in.at(0))};
      return true;
    case prim::Uninitialized:
      out = {IValue::uninitialized()};
      return true;
    case prim::EmptyListLiteral:
      out = {c10::impl::GenericList(c10::TensorType::get())};
      return true;
    default:
      return false;
  }
}

void collect_values(const Node* node, std::unordered_set<const Value*>& used) {
  for (const Value* input : node->inputs()) used.insert(input);
  for (const Block* block : node->blocks()) {
    for (const Node* inner : block->nodes()) collect_values(inner, used);
    collect_values(block->return_node(), used);
  }
}

void call_as_convolution(Stack& stack) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
  stack.resize(op.schema().arguments().size());  // what follows are settings of cuDNN
  op.callBoxed(stack);
}

}  // namespace

ScriptInterpreter::ScriptInterpreter(const ScriptModule& module, at::Device device,
                                     std::function<void()> on_node, Copies* copies)
    : module_(module),
      device_(device),
      on_node_(std::move(on_node)),
      copying_calls_(*copies),
      state_(module, device, [this](const at::Tensor& t) { return place(t); }) {}

/// Lifted, or on the CPU a copy, so that the module's own tensors are never written.
at::Tensor ScriptInterpreter::place(const at::Tensor& tensor) {
  at::Tensor placed;
  if (device_.is_lazy()) {
    placed = lazyrt::lift(tensor.detach());
  } else {
    at::Tensor& copy = copies_[tensor.unsafeGetTensorImpl()];
    if (!copy.defined()) copy = clone_in_place(tensor);
    placed = copy;
  }
  if (tensor.requires_grad()) trained_.insert(placed.unsafeGetTensorImpl());
  return placed;
}

IValue ScriptInterpreter::run_forward(const std::vector<IValue>& arguments) {
  for (const IValue& argument : arguments) {
    argument.visit([this](const IValue& item) {
      if (item.isTensor()) inputs_.push_back(item.toTensor());
      return false;
    });
  }
  IValue result = call_with_hooks(
      module_.module(), arguments, [this](torch::jit::Function& function, Stack stack) {
        IValue returned = call(function, std::move(stack), nullptr).at(0);
        const Value* value = torch::jit::toGraphFunction(function).graph()->outputs()[0];
        return is_lazy_number(value, returned) ? plain_number(returned.toTensor()) : returned;
      });
  if (device_.is_lazy()) {  // it may return what an attribute held, and that is written now
    const auto copied = [](const at::Tensor& t) { return is_lazy(t) ? t.clone() : t; };
    result = map_script_value(result, copied);
  }
  state_.write_back();
  return result;
}

Stack ScriptInterpreter::call(torch::jit::Function& function, Stack arguments, const Node* site) {
  if (!function.isGraphFunction()) {
    function.run(arguments);
    return arguments;
  }
  TORCH_CHECK(calls_.size() < kMaxCalls, "calls are nested deeper than ", kMaxCalls);
  const bool method = !arguments.empty() && arguments[0].isObject();
  const std::string* path = method ? module_.path_of(arguments[0].toObject().get()) : nullptr;
  paths_.push_back(path ? *path : paths_.back());
  if (site) calls_.push_back(site);
  Stack results = run_graph(*torch::jit::toGraphFunction(function).graph(), std::move(arguments));
  if (site) calls_.pop_back();
  paths_.pop_back();
  return results;
}

Stack ScriptInterpreter::run_graph(const torch::jit::Graph& graph, Stack inputs) {
  TORCH_CHECK(graph.inputs().size() == inputs.size(), "a function takes ", graph.inputs().size(),
              " values, ", inputs.size(), " are given");
  Environment env;
  for (size_t i = 0; i < inputs.size(); ++i) env[graph.inputs()[i]] = std::move(inputs[i]);
  return run_block(graph.block(), env);
}

/// The values that are read for the last time by each node of the block.
const ScriptInterpreter::LastUses& ScriptInterpreter::last_uses(const Block* block) {
  const auto [it, is_new] = last_uses_.try_emplace(block);
  if (!is_new) return it->second;
  std::unordered_map<const Value*, size_t> last;
  for (const Value* input : block->inputs()) last[input] = 0;
  size_t index = 0;
  for (const Node* node : block->nodes()) {
    std::unordered_set<const Value*> used;
    collect_values(node, used);
    for (const Value* value : used) {
      if (const auto known = last.find(value); known != last.end()) known->second = index;
    }
    for (const Value* output : node->outputs()) last[output] = index;
    ++index;
  }
  for (const Value* output : block->outputs()) last.erase(output);
  it->second.resize(index);
  for (const auto& [value, at] : last) {
    if (at < index) it->second[at].push_back(value);
  }
  return it->second;
}

Stack ScriptInterpreter::run_block(const Block* block, Environment& env) {
  const LastUses& released = last_uses(block);
  size_t index = 0;
  for (const Node* node : block->nodes()) {
    run_node(node, env);
    for (const Value* value : released[index]) env.erase(value);
    ++index;
  }
  return inputs_of(block->return_node(), env);
}

Source ScriptInterpreter::source_of(const Node* node) {
  return sources_.source_of(node, calls_, paths_.back());
}

/// Names node and line in an error that does not do so yet.
void ScriptInterpreter::add_place(c10::Error& error, const Node* node) {
  const std::string where = source_of(node).text(), text = error.what_without_backtrace();
  if (where.empty() || text.find(where) != std::string::npos) return;
  error.add_context("in " + kind_of(node) + " at " + where);
}

void ScriptInterpreter::run_node(const Node* node, Environment& env) {
  Stack results;
  try {
    results = results_of(node, env);
  } catch (c10::Error& e) {
    add_place(e, node);
    throw;
  }
  TORCH_CHECK(results.size() == node->outputs().size(), kind_of(node), " gives ", results.size(),
              " values, the graph expects ", node->outputs().size());
  for (size_t i = 0; i < results.size(); ++i) env[node->outputs()[i]] = std::move(results[i]);
}

namespace {

/// append, pop, _set_item and the like.
bool writes_container(const Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (!schema || schema->arguments().empty() || node->inputs().empty()) return false;
  const c10::AliasInfo* alias = schema->arguments()[0].alias_info();
  const c10::TypeKind kind = node->input(0)->type()->kind();
  return alias && alias->isWrite() &&
         (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType);
}

}  // namespace

Stack ScriptInterpreter::results_of(const Node* node, Environment& env) {
  if (writes_container(node)) state_.note_container_write();
  switch (node->kind()) {
    case prim::Constant:
      if (node->output()->type()->kind() == c10::TypeKind::FunctionType) return {IValue()};
      return {constant(node)};
    case prim::If:
      return run_if(node, env);
    case prim::Loop:
      return run_loop(node, env);
    case prim::CallFunction:
    case prim::CallMethod:
    case prim::Enter:
    case prim::Exit:
      return run_call(node, env);
    case prim::GetAttr:
    case prim::SetAttr:
      return run_attribute(node, env);
    case prim::fork:
      return run_fork(node, env);
    default:
      break;
  }
  Stack inputs = inputs_of(node, env), made;
  if (auto numbers = run_on_numbers(node, inputs)) return std::move(*numbers);
  if (make_value(node, inputs, made)) return made;
  Stack results = run_operator(node, std::move(inputs));
  if (on_node_) on_node_();
  return results;
}

IValue ScriptInterpreter::constant(const Node* node) {
  const auto lifted = [&](const at::Tensor& t) {
    const at::Tensor made = place(t);
    if (device_.is_lazy()) constants_.emplace_back(made, source_of(node));
    return made;
  };
  return map_script_value(*torch::jit::toIValue(node->output()), lifted);
}

std::vector<Source> ScriptInterpreter::written_constants() const {
  std::vector<Source> sources;
  for (const auto& [tensor, source] : constants_) {
    if (was_written(tensor)) sources.push_back(source);
  }
  return sources;
}

Stack ScriptInterpreter::run_if(const Node* node, Environment& env) {
  const bool taken = env.at(node->input()).toBool();
  const Block* block = node->blocks().at(taken ? 0 : 1);
  Stack results = run_block(block, env);
  make_plain(node, block->outputs(), node->outputs(), results);
  return results;
}

/// Makes plain the numbers of values `from` that become values `to` of another type (Union[int,
/// float], Any): there they cannot be distinguished from tensors.
void ScriptInterpreter::make_plain(const Node* node, Values from, Values to, Stack& given) {
  for (size_t i = 0; i < given.size() && i < from.size() && i < to.size(); ++i) {
    const bool stays = is_number_type(to[i]->type());
    if (!stays && is_lazy_number(from[i], given[i])) given[i] = plain(node, given[i]);
  }
}

/// The plain number, if nothing else is possible.
IValue ScriptInterpreter::plain(const Node* node, const IValue& value) {
  const SourceScope scope(source_of(node));
  return plain_number(value.toTensor());
}

Stack ScriptInterpreter::run_loop(const Node* node, Environment& env) {
  Stack carried = inputs_of(node, env);
  if (is_lazy_number(node->input(0), carried.at(0))) carried[0] = plain(node, carried[0]);
  const int64_t trips = carried.at(0).toInt();
  bool go_on = carried.at(1).toBool();
  carried.erase(carried.begin(), carried.begin() + 2);
  const Block* body = node->blocks().at(0);
  const Values inside = body->inputs().slice(1);
  make_plain(node, node->inputs().slice(2), inside, carried);
  for (int64_t i = 0; i < trips && go_on; ++i) {
    env[body->inputs()[0]] = i;
    for (size_t k = 0; k < carried.size(); ++k) env[body->inputs()[k + 1]] = std::move(carried[k]);
    carried = run_block(body, env);
    go_on = carried.at(0).toBool();
    carried.erase(carried.begin());
    make_plain(node, body->outputs().slice(1), inside, carried);
  }
  return carried;
}

Stack ScriptInterpreter::run_call(const Node* node, Environment& env) {
  Stack arguments = inputs_of(node, env);
  if (node->kind() == prim::CallFunction) {
    arguments.erase(arguments.begin());
    auto* function = node->input(0)->type()->expectRef<c10::FunctionType>().function();
    return call_from(node, *function, node->inputs().slice(1), std::move(arguments));
  }
  std::string name;
  if (node->kind() == prim::Enter) name = "__enter__";
  if (node->kind() == prim::Exit) name = "__exit__";
  if (node->kind() == prim::CallMethod) name = node->s(attr::name);
  if (node->kind() == prim::Exit) arguments.resize(4);  // no exception: three times None
  TORCH_CHECK(arguments.at(0).isObject(), "method '", name, "' of a ", arguments[0].tagKind());
  torch::jit::Function& method = arguments[0].toObjectRef().type()->getMethod(name);
  return call_from(node, method, node->inputs(), std::move(arguments));
}

Stack ScriptInterpreter::call_from(const Node* node, torch::jit::Function& function, Values given,
                                   Stack arguments) {
  if (!function.isGraphFunction()) return call(function, std::move(arguments), node);
  const torch::jit::Graph& graph = *torch::jit::toGraphFunction(function).graph();
  make_plain(node, given, graph.inputs(), arguments);
  Stack results = call(function, std::move(arguments), node);
  make_plain(node, graph.outputs(), node->outputs(), results);
  return results;
}

/// Runs immediately what the program would do in parallel.
Stack ScriptInterpreter::run_fork(const Node* node, Environment& env) {
  const Stack results = run_graph(*node->g(attr::Subgraph), inputs_of(node, env));
  auto future = c10::make_intrusive<c10::ivalue::Future>(
      node->output()->type()->expectRef<c10::FutureType>().getElementType());
  future->markCompleted(results.at(0));
  return {future};
}

Stack ScriptInterpreter::run_attribute(const Node* node, Environment& env) {
  const auto object = env.at(node->input(0)).toObject();
  const std::string& name = node->s(attr::name);
  if (node->kind() == prim::GetAttr) return {state_.get(object, name)};
  IValue value = env.at(node->input(1));
  const bool stays = is_number_type(object->type()->getAttribute(name));
  if (!stays && is_lazy_number(node->input(1), value)) value = plain(node, value);
  state_.set(object, name, std::move(value));
  return {};
}

// ---------------------------------------------------------------- operators

/// What a node gives for or as numbers that stay in the graph. Nothing: it runs as others do; lazy
/// numbers among its inputs have become plain ones.
std::optional<Stack> ScriptInterpreter::run_on_numbers(const Node* node, Stack& stack) {
  const std::string kind = kind_of(node);
  const SourceScope scope(source_of(node));
  const bool out_of_graph =
      takes_number_out(kind) && stack.at(0).isTensor() && is_lazy(stack[0].toTensor());
  if (out_of_graph && stays_in_graph(stack[0].toTensor())) {
    return Stack{number_as(lazy_number(stack[0].toTensor()), node->output()->type())};
  }
  if (!has_lazy_numbers(node, stack)) return std::nullopt;
  if (kind == "prim::Print" || kind == "aten::warn") return run_operator(node, stack);
  if (kind == "prim::unchecked_cast" || kind == "prim::NumToTensor") return stack;
  if (all_numbers(node) && node->outputs().size() == 1) {
    if (const auto made = compute_number(NumberRules::kTorchScript, function_name(kind), stack)) {
      running_ = node;
      if (made->scalar_type() == at::kBool) return Stack{made->item()};
      return Stack{number_as(*made, node->output()->type())};
    }
  } else if (const c10::FunctionSchema* schema = node->maybeSchema();
             schema && !has_complex_numbers(stack)) {
    if (call_with_numbers(*schema, &stack)) {
      for (size_t i = 0; i < stack.size(); ++i) stack[i] = truth_of(node->output(i), stack[i]);
      return stack;
    }
  }
  for (size_t i = 0; i < stack.size(); ++i) {
    if (is_lazy_number(node->input(i), stack[i])) stack[i] = plain_number(stack[i].toTensor());
  }
  return std::nullopt;
}

/// An assertion of a script is a branch that raises.
std::string ScriptInterpreter::check_of(bool seen) {
  if (!running_ || running_->outputs().size() != 1) return "";
  if (!raises_otherwise(running_->output(), seen)) return "";
  return "assert at " + source_of(running_).text();
}

void ScriptInterpreter::note_question(const Node* node, const Stack& stack) {
  const std::string kind = kind_of(node);
  if (kind.starts_with("aten::as_strided")) copying_calls_.check_place(stack.at(0).toTensor());
  const bool place = kind == "aten::storage_offset" || kind.starts_with("aten::as_strided") ||
                     kind == "aten::is_set_to";
  questions_.place = questions_.place || place;
  const bool by_dim = kind == "aten::stride" || kind == "aten::is_strides_like_format";
  questions_.strides = questions_.strides || place || asks_for_strides(kind);
  questions_.strides_by_dim = questions_.strides_by_dim || place || by_dim;
  questions_.other = questions_.other || asks_for_facts(kind);
  if (kind == "aten::is_grad_enabled") note_gradient_mode(node);
  if (asks_for_gradients(kind)) {
    questions_.gradients = true;
    if (!is_given(stack.at(0).toTensor())) note_gradient_mode(node);
  }
  if (kind == "aten::__is__" || kind == "aten::__isnot__" || kind == "aten::is_set_to") {
    note_identity(stack.at(0), stack.at(1));
  }
}

/// The program's own question comes before those of torch.nn's fast paths and of no_grad itself.
void ScriptInterpreter::note_gradient_mode(const Node* node) {
  const bool of_torch = is_of_torch(sources_.line_of(node).file);
  std::optional<Source>& asked = of_torch ? questions_.torch_asks : questions_.gradient_mode;
  if (!asked) asked = source_of(node);
}

/// Whether a tensor is the same in any gradient mode.
bool ScriptInterpreter::is_given(const at::Tensor& tensor) const {
  return is_input(tensor) || state_.holds(tensor);
}

bool ScriptInterpreter::is_input(const at::Tensor& tensor) const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [&](const at::Tensor& input) { return input.is_same(tensor); });
}

/// Whether two inputs are one is the caller's to keep, as is whether contiguous() gives its operand
/// back; whether one is what an earlier call was given is not known to a bundle.
void ScriptInterpreter::note_identity(const IValue& a, const IValue& b) {
  if (!a.isTensor() || !b.isTensor()) return;
  questions_.identity = questions_.strides = true;
  const at::Tensor &one = a.toTensor(), &other = b.toTensor();
  const bool earlier =
      (is_input(one) && state_.holds(other)) || (is_input(other) && state_.holds(one));
  TORCH_CHECK(!earlier,
              "the program asks whether an input is the tensor that an attribute holds, "
              "and a bundle does not know its caller's objects: compare values (torch.equal)");
}

/// Factories get the run's device; asking for another one gets it, too.
void ScriptInterpreter::prepare_arguments(const Node* node, Stack& stack) const {
  const c10::FunctionSchema& schema = node->schema();
  const bool factory = !takes_tensors(schema);
  const bool of_numbers = makes_tensor_of_numbers(kind_of(node));
  for (size_t i = 0; i < schema.arguments().size() && i < stack.size(); ++i) {
    if (schema.arguments()[i].name() != "device") continue;
    if (of_numbers && factory) {
      stack[i] = at::Device(at::kCPU);
    } else if (stack[i].isDevice() || (factory && stack[i].isNone())) {
      stack[i] = device_;
    }
  }
  const bool counted = schema.is_vararg() && node->kind() != prim::tolist;
  if (counted) stack.emplace_back(static_cast<int64_t>(node->inputs().size()));
}

namespace {

/// Changes the list itself, which may be what an attribute or another list holds.
template <typename Keep>
void keep_items(const c10::List<at::Tensor>& list, const Keep& keep) {
  for (size_t i = 0; i < list.size(); ++i) {
    const at::Tensor item = list.get(i);
    if (const at::Tensor kept = keep(item); !kept.is_same(item)) list.set(i, kept);
  }
}

}  // namespace

/// Tensors that the program makes of numbers are lifted, so that it can write into them. Arithmetic
/// on sizes, which a traced program does with 0-dim tensors, stays on the CPU: it is no work of the
/// model's.
void ScriptInterpreter::keep_on_device(const Node* node, bool from_cpu, Stack& results) const {
  const bool sizes = node->kind() == prim::NumToTensor || from_cpu;
  const auto keep = [&](const at::Tensor& t) {
    const bool stays = !device_.is_lazy() || is_lazy(t) || (sizes && t.dim() == 0);
    return stays ? t : lazyrt::lift(t);
  };
  for (IValue& value : results) {
    if (value.isTensor()) value = keep(value.toTensor());
    if (value.isTensorList()) keep_items(value.toTensorList(), keep);
    if (value.isDevice() && value.toDevice().is_lazy()) value = at::Device(at::kCPU);
  }
}

Stack ScriptInterpreter::run_operator(const Node* node, Stack stack) {
  const std::string kind = kind_of(node);
  if (kind == "prim::Print" || kind == "aten::warn") {
    const std::string where = source_of(node).text();
    notes_.push_back("left out " + kind + (where.empty() ? "" : " at " + where));
    return {};
  }
  if (kind == "prim::RaiseException") {
    TORCH_CHECK(false, "the program raises an exception at ", source_of(node).text(), ": ",
                stack.at(0).isString() ? stack[0].toStringRef() : "");
  }
  if (kind == "aten::wait") return {stack.at(0).toFuture()->value()};
  if (kind == "aten::cpu" || kind == "aten::cuda") return {stack.at(0)};
  if (kind == "prim::data") return {stack.at(0).toTensor().detach()};
  if (kind == "prim::is_cpu") return {true};
  if (kind == "prim::requires_grad" &&
      trained_.count(stack.at(0).toTensor().unsafeGetTensorImpl())) {
    return {true};
  }
  note_question(node, stack);
  const SourceScope scope(source_of(node));
  if (kind == "aten::_convolution") {
    call_as_convolution(stack);
    return stack;
  }
  if (kind == "prim::tolist") stack[0] = stack[0].toTensor().cpu();
  TORCH_CHECK(node->maybeOperator(), "unknown operator ", kind,
              " (a custom one? its library is not loaded)");
  prepare_arguments(node, stack);
  if (const at::Tensor number = constant_number(node); number.defined()) stack[1] = number;
  const bool from_cpu =
      any_tensor(stack, [](const at::Tensor& t) { return t.device().is_cpu(); }) &&
      !any_tensor(stack, is_lazy);
  auto operation = operations_.find(node);
  if (operation == operations_.end()) {
    operation = operations_.emplace(node, node->getOperation()).first;
  }
  running_ = node;
  const Stack arguments = Copies::may_copy(kind) ? stack : Stack();
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || !Copies::call_as_view(schema->operator_name(), stack)) {
    operation->second(stack);
  }
  keep_on_device(node, from_cpu, stack);
  const bool copies = !arguments.empty() && arguments[0].isTensor() && stack.at(0).isTensor();
  if (copies) stack[0] = copying_calls_.take(arguments, stack[0].toTensor());
  if (asks_for_strides(kind)) stack[0] = copying_calls_.told(stack.at(0));
  return stack;
}

}  // namespace lazyrt
