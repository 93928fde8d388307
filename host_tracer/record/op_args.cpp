#include "host_tracer/record/op_args.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

c10::TypePtr strip_optional(c10::TypePtr type) {
  while (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type;
}

[[noreturn]] void refuse_arg(const c10::OperatorHandle& op, const c10::Argument& arg,
                             const std::string& why) {
  TORCH_CHECK(false, c10::toString(op.operator_name()), ": argument '", arg.name(), "' ", why);
}

TraceArg dtype_arg(const c10::OperatorHandle& op, const c10::Argument& arg, int64_t code) {
  const auto type = static_cast<at::ScalarType>(code);
  const DType dtype = to_dtype(type);
  if (dtype == DType::kNone) {
    refuse_arg(op, arg, std::string("has the unsupported dtype ") + c10::toString(type));
  }
  return dtype;
}

TraceArg int_arg(const c10::OperatorHandle& op, const c10::Argument& arg, int64_t value) {
  const auto kind = strip_optional(arg.real_type())->kind();
  if (kind == c10::TypeKind::ScalarTypeType) return dtype_arg(op, arg, value);
  return value;
}

TraceArg tensors_arg(const c10::IValue& value, const TensorToId& id_of) {
  std::vector<TensorArg> ids;
  for (const c10::IValue& item : value.toListRef()) {
    const bool defined = item.isTensor() && item.toTensor().defined();
    ids.push_back({defined ? id_of(item.toTensor()) : kNoTraceValue});
  }
  return ids;
}

std::vector<int64_t> sym_ints(const c10::OperatorHandle& op, const c10::Argument& arg,
                              c10::ArrayRef<c10::IValue> items) {
  std::vector<int64_t> ints;
  for (const c10::IValue& item : items) {
    if (item.isInt()) {
      ints.push_back(item.toInt());
      continue;
    }
    const auto value = item.isSymInt() ? item.toSymInt().maybe_as_int() : std::nullopt;
    if (!value) refuse_arg(op, arg, "is not a list of known integers");
    ints.push_back(*value);
  }
  return ints;
}

TraceArg scalar_list_arg(const c10::OperatorHandle& op, const c10::Argument& arg,
                         c10::ArrayRef<c10::IValue> items) {
  if (items.empty() || items[0].isInt() || items[0].isSymInt()) return sym_ints(op, arg, items);
  if (items[0].isBool()) {
    std::vector<bool> bools;
    for (const c10::IValue& item : items) bools.push_back(item.toBool());
    return bools;
  }
  if (items[0].isDouble()) {
    std::vector<double> doubles;
    for (const c10::IValue& item : items) doubles.push_back(item.toDouble());
    return doubles;
  }
  refuse_arg(op, arg, "is a list of " + items[0].tagKind() + ", which a trace cannot hold");
}

bool is_tensor_list(const c10::Argument& arg, const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto type = strip_optional(arg.type());
  if (type->kind() != c10::TypeKind::ListType) return value.isTensorList();
  const auto element = strip_optional(type->castRaw<c10::ListType>()->getElementType());
  return element->kind() == c10::TypeKind::TensorType;
}

c10::IValue tensor_list_ivalue(const std::vector<TensorArg>& items, bool optional,
                               const IdToTensor& tensor_of) {
  if (optional) {
    c10::List<std::optional<at::Tensor>> list;
    for (const TensorArg& item : items) {
      list.push_back(item.value == kNoTraceValue ? std::optional<at::Tensor>()
                                                 : std::optional(tensor_of(item.value)));
    }
    return list;
  }
  c10::List<at::Tensor> list;
  for (const TensorArg& item : items) {
    list.push_back(item.value == kNoTraceValue ? at::Tensor() : tensor_of(item.value));
  }
  return list;
}

/// The element type of a (possibly optional) list argument, not stripped of its own optional.
c10::TypePtr element_type(const c10::Argument& arg) {
  const auto type = strip_optional(arg.type());
  TORCH_CHECK(type->kind() == c10::TypeKind::ListType, "argument '", arg.name(), "' is no list");
  return type->castRaw<c10::ListType>()->getElementType();
}

struct ToIValue {
  const c10::Argument& arg;
  const IdToTensor& tensor_of;

  c10::IValue operator()(std::monostate) const {
    if (strip_optional(arg.real_type())->kind() == c10::TypeKind::DeviceObjType) {
      return at::Device(at::kCPU);
    }
    if (arg.type()->kind() == c10::TypeKind::TensorType) return at::Tensor();
    return {};
  }
  c10::IValue operator()(bool v) const { return v; }
  c10::IValue operator()(int64_t v) const {
    if (strip_optional(arg.type())->kind() == c10::TypeKind::FloatType) {
      return static_cast<double>(v);
    }
    return v;
  }
  c10::IValue operator()(double v) const { return v; }
  c10::IValue operator()(const std::string& v) const { return v; }
  c10::IValue operator()(DType v) const { return static_cast<int64_t>(to_scalar_type(v)); }
  c10::IValue operator()(TensorArg v) const {
    return v.value == kNoTraceValue ? c10::IValue(at::Tensor()) : tensor_of(v.value);
  }
  c10::IValue operator()(const std::vector<bool>& v) const {
    c10::List<bool> list;
    for (bool item : v) list.push_back(item);
    return list;
  }
  c10::IValue operator()(const std::vector<int64_t>& v) const {
    const auto kind = strip_optional(element_type(arg))->kind();
    if (kind == c10::TypeKind::FloatType) return std::vector<double>(v.begin(), v.end());
    return v;
  }
  c10::IValue operator()(const std::vector<double>& v) const { return v; }
  c10::IValue operator()(const std::vector<TensorArg>& v) const {
    const bool optional = element_type(arg)->kind() == c10::TypeKind::OptionalType;
    return tensor_list_ivalue(v, optional, tensor_of);
  }
};

}  // namespace

std::optional<std::string> aten_name(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  constexpr std::string_view kNamespace = "aten::";
  if (!name.starts_with(kNamespace)) return std::nullopt;
  return name.substr(kNamespace.size());
}

void map_tensors(c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& fn) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) value = fn(value.toTensor());
    return;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> mapped;
    for (const at::Tensor& t : value.toTensorVector()) mapped.push_back(t.defined() ? fn(t) : t);
    value = mapped;
    return;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> mapped;
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector()) {
      mapped.push_back(t && t->defined() ? std::optional(fn(*t)) : t);
    }
    value = mapped;
  }
}

void give_optional_tensors(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = torch::jit::peek(*stack, i, arguments.size());
    if (!value.isList() || value.isOptionalTensorList()) continue;  // most: types take their time
    if (*arguments[i].type() != *c10::ListType::ofOptionalTensors()) continue;
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& item : value.toListRef()) {
      list.push_back(item.isNone() ? std::nullopt : std::optional(item.toTensor()));
    }
    value = std::move(list);
  }
}

TraceArg to_trace_arg(const c10::OperatorHandle& op, const c10::Argument& arg,
                      const c10::IValue& value, const TensorToId& id_of) {
  if (value.isNone() || value.isDevice()) return std::monostate{};
  if (value.isTensor()) {
    const at::Tensor& t = value.toTensor();
    return t.defined() ? TraceArg(TensorArg{id_of(t)}) : TraceArg(std::monostate{});
  }
  if (is_tensor_list(arg, value)) return tensors_arg(value, id_of);
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return int_arg(op, arg, value.toInt());
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isSymInt()) return sym_ints(op, arg, {value}).front();
  if (value.isList()) return scalar_list_arg(op, arg, value.toList().vec());
  refuse_arg(op, arg, "is a " + value.tagKind() + ", which a trace cannot hold");
}

c10::IValue to_ivalue(const c10::Argument& arg, const TraceArg& value,
                      const IdToTensor& tensor_of) {
  return std::visit(ToIValue{arg, tensor_of}, value);
}

}  // namespace lazyrt
