#include "host_tracer/frontends/pt2/signature.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>

#include "host_tracer/frontends/pt2/arguments.h"

namespace lazyrt {
namespace {

namespace ex = torch::_export;
using Kind = Pt2Placeholder::Kind;

c10::IValue constant_value(const ex::ConstantValue& value) {
  switch (value.tag()) {
    case ex::ConstantValue::Tag::AS_NONE:
      return {};
    case ex::ConstantValue::Tag::AS_INT:
      return value.get_as_int();
    case ex::ConstantValue::Tag::AS_FLOAT:
      return value.get_as_float().get();
    case ex::ConstantValue::Tag::AS_STRING:
      return value.get_as_string();
    case ex::ConstantValue::Tag::AS_BOOL:
      return value.get_as_bool();
  }
  TORCH_CHECK(false, "an input constant of unknown kind");
}

Pt2Placeholder user_input(const ex::UserInputSpec& spec) {
  const ex::Argument& arg = spec.get_arg();
  if (arg.tag() == ex::Argument::Tag::AS_TENSOR) {
    return {Kind::kInput, arg.get_as_tensor().get_name(), "", {}};
  }
  TORCH_CHECK(arg.tag() != ex::Argument::Tag::AS_SYM_INT ||
                  arg.get_as_sym_int().tag() == ex::SymIntArgument::Tag::AS_INT,
              "input '", arg.get_as_sym_int().get_as_name(),
              "' is a number that varies from run to run; only tensors can be inputs");
  return {Kind::kNumber, "", "", Pt2Values().value_of(arg)};
}

Pt2Placeholder placeholder(const ex::InputSpec& spec) {
  using In = ex::InputSpec::Tag;
  switch (spec.tag()) {
    case In::USER_INPUT:
      return user_input(spec.get_user_input());
    case In::PARAMETER: {
      const auto& p = spec.get_parameter();
      return {Kind::kParameter, p.get_arg().get_name(), p.get_parameter_name(), {}};
    }
    case In::BUFFER: {
      const auto& b = spec.get_buffer();
      return {Kind::kBuffer, b.get_arg().get_name(), b.get_buffer_name(), {}};
    }
    case In::TENSOR_CONSTANT: {
      const auto& c = spec.get_tensor_constant();
      return {Kind::kConstant, c.get_arg().get_name(), c.get_tensor_constant_name(), {}};
    }
    case In::CONSTANT_INPUT: {
      const auto& c = spec.get_constant_input();
      return {Kind::kNumber, c.get_name(), "", constant_value(c.get_value())};
    }
    case In::CUSTOM_OBJ:
      TORCH_CHECK(false, "the program uses the custom object '",
                  spec.get_custom_obj().get_custom_obj_name(), "', which cannot be captured");
    case In::TOKEN:
      break;
  }
  TORCH_CHECK(false, "the program has effects (tokens), which cannot be captured");
}

/// The placeholder over a parameter or buffer of that name, or the input of it.
size_t placeholder_of(const std::vector<Pt2Placeholder>& placeholders, const std::string& name) {
  const auto found =
      std::find_if(placeholders.begin(), placeholders.end(), [&](const Pt2Placeholder& p) {
        return (p.kind == Kind::kInput ? p.name : p.target) == name;
      });
  TORCH_CHECK(found != placeholders.end(), "the file's signature writes to '", name,
              "', which is no input, parameter or buffer of its graph");
  return static_cast<size_t>(found - placeholders.begin());
}

Pt2Output output(const ex::OutputSpec& spec, const std::vector<Pt2Placeholder>& placeholders) {
  using Out = ex::OutputSpec::Tag;
  const auto write_to = [&](const std::string& name) {
    return Pt2Output{name, placeholder_of(placeholders, name)};
  };
  switch (spec.tag()) {
    case Out::USER_OUTPUT: {
      std::vector<std::string> names;
      append_names(spec.get_user_output().get_arg(), names);
      return {names.empty() ? "" : names[0], std::nullopt};
    }
    case Out::LOSS_OUTPUT:
      return {spec.get_loss_output().get_arg().get_name(), std::nullopt};
    case Out::BUFFER_MUTATION:
      return write_to(spec.get_buffer_mutation().get_buffer_name());
    case Out::PARAMETER_MUTATION:
      return write_to(spec.get_parameter_mutation().get_parameter_name());
    case Out::USER_INPUT_MUTATION:
      return write_to(spec.get_user_input_mutation().get_user_input_name());
    default:
      break;
  }
  TORCH_CHECK(false, "the program is a training graph (gradients or tokens among its outputs)");
}

/// "2*Symbol('s0', positive=True, integer=True)" without the assumptions: "2*s0".
std::string without_assumptions(const std::string& expr) {
  constexpr std::string_view kSymbol = "Symbol('";
  std::string text;
  for (size_t at = 0; at < expr.size();) {
    const size_t begin = expr.find(kSymbol, at);
    text += expr.substr(at, begin - at);
    if (begin == std::string::npos) break;
    const size_t name = begin + kSymbol.size();
    const size_t name_end = std::min(expr.find('\'', name), expr.size());
    const size_t close = std::min(expr.find(')', name_end), expr.size() - 1);
    text += expr.substr(name, name_end - name);
    at = close + 1;
  }
  return text;
}

Pt2Dim dynamic_dim(const std::string& input, size_t dim, const ex::SymInt& size,
                   const ex::ExportedProgram& program) {
  Pt2Dim result;
  result.input = input;
  result.dim = static_cast<int64_t>(dim);
  read_expression(without_assumptions(size.get_as_expr().get_expr_str()), &result);
  const auto& ranges = program.get_range_constraints();
  if (const auto range = ranges.find(result.root); range != ranges.end()) {
    result.min = range->second.get_min_val();
    result.max = range->second.get_max_val();
  }
  // Of a multiple torch keeps what the user said of the Dim, and another min, 2, of its symbol.
  const bool follows = result.multiple > 1 || result.offset != 0;
  const auto range = follows ? ranges.find(result.expression) : ranges.end();
  if (range != ranges.end() && range->second.get_min_val()) {
    const int64_t least = *range->second.get_min_val() - result.offset;
    result.min = (least + result.multiple - 1) / result.multiple;
  }
  return result;
}

}  // namespace

Pt2Signature read_signature(const ex::ExportedProgram& program) {
  const ex::GraphModule& module = program.get_graph_module();
  Pt2Signature signature;
  for (const ex::InputSpec& spec : module.get_signature().get_input_specs()) {
    signature.placeholders.push_back(placeholder(spec));
  }
  for (const ex::OutputSpec& spec : module.get_signature().get_output_specs()) {
    signature.outputs.push_back(output(spec, signature.placeholders));
  }
  TORCH_CHECK(signature.placeholders.size() == module.get_graph().get_inputs().size() &&
                  signature.outputs.size() == module.get_graph().get_outputs().size(),
              "the file's signature does not fit its graph");
  TORCH_CHECK(std::any_of(signature.outputs.begin(), signature.outputs.end(),
                          [](const Pt2Output& out) { return !out.written; }),
              "the program has no outputs");
  return signature;
}

std::vector<Pt2Dim> dynamic_dims(const ex::ExportedProgram& program,
                                 const Pt2Signature& signature) {
  std::vector<Pt2Dim> dims;
  const auto& metas = program.get_graph_module().get_graph().get_tensor_values();
  for (const Pt2Placeholder& p : signature.placeholders) {
    const auto meta = metas.find(p.name);
    if (p.kind != Kind::kInput || meta == metas.end()) continue;
    const auto& sizes = meta->second.get_sizes();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d].tag() == ex::SymInt::Tag::AS_INT) continue;
      dims.push_back(dynamic_dim(p.name, d, sizes[d], program));
    }
  }
  return dims;
}

std::string dim_text(const Pt2Dim& dim) {
  const auto bound = [](const std::optional<int64_t>& v) { return v ? std::to_string(*v) : ""; };
  const std::string range = dim.root.empty() ? "" : " in " + bound(dim.min) + ".." + bound(dim.max);
  return "input '" + dim.input + "': dim " + std::to_string(dim.dim) + " (" + dim.expression +
         range + ")";
}

void flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves) {
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) flatten(item, leaves);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toList().vec()) flatten(item, leaves);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) flatten(entry.value(), leaves);
  } else {
    leaves.push_back(value);
  }
}

}  // namespace lazyrt
