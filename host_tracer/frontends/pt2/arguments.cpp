#include "host_tracer/frontends/pt2/arguments.h"

#include <ATen/ATen.h>

#include "host_tracer/frontends/pt2/archive.h"
#include "host_tracer/frontends/shared/lazy_numbers.h"

namespace lazyrt {
namespace {

namespace ex = torch::_export;
using Tag = ex::Argument::Tag;

at::Layout layout_of(ex::Layout layout) {
  TORCH_CHECK(layout == ex::Layout::Strided, "layout ", ex::printEnum(layout),
              " is not supported; only dense tensors can be captured");
  return at::kStrided;
}

at::MemoryFormat memory_format_of(ex::MemoryFormat format) {
  switch (format) {
    case ex::MemoryFormat::ContiguousFormat:
      return at::MemoryFormat::Contiguous;
    case ex::MemoryFormat::ChannelsLast:
      return at::MemoryFormat::ChannelsLast;
    case ex::MemoryFormat::ChannelsLast3d:
      return at::MemoryFormat::ChannelsLast3d;
    case ex::MemoryFormat::PreserveFormat:
      return at::MemoryFormat::Preserve;
    default:
      TORCH_CHECK(false, "unknown memory format");
  }
}

c10::TypePtr strip_optional(c10::TypePtr type) {
  while (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type;
}

c10::TypePtr list_element(const c10::TypePtr& type) {
  if (type->kind() != c10::TypeKind::ListType) return nullptr;
  return type->castRaw<c10::ListType>()->getElementType();
}

/// A Python number in the place of a tensor: 0-dim, without a say in type promotion.
at::Tensor number_tensor(const c10::IValue& value) {
  const at::Scalar scalar = value.toScalar();
  at::Tensor t = at::scalar_tensor(scalar, at::TensorOptions().dtype(scalar.type()));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

c10::IValue convert_list(const c10::TypePtr& element, const c10::IValue& value) {
  const c10::TypeKind kind = strip_optional(element)->kind();
  const auto items = value.toListRef();
  if (kind == c10::TypeKind::TensorType) {
    if (element->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> list;
      for (const c10::IValue& item : items) list.push_back(item.toOptional<at::Tensor>());
      return list;
    }
    c10::List<at::Tensor> list;
    for (const c10::IValue& item : items) list.push_back(item.toTensor());
    return list;
  }
  if (kind == c10::TypeKind::FloatType) {
    c10::List<double> list;
    for (const c10::IValue& item : items) list.push_back(item.toScalar().toDouble());
    return list;
  }
  if (kind == c10::TypeKind::BoolType) {
    c10::List<bool> list;
    for (const c10::IValue& item : items) list.push_back(item.toScalar().toBool());
    return list;
  }
  if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType) {
    c10::List<int64_t> list;
    for (const c10::IValue& item : items) list.push_back(item.toScalar().toLong());
    return list;
  }
  return value;
}

template <typename T, typename Fn>
c10::IValue generic_list(const std::vector<T>& items, const c10::TypePtr& type, const Fn& fn) {
  c10::impl::GenericList list(type);
  for (const auto& item : items) list.push_back(fn(item));
  return list;
}

/// Takes a list of symbolic numbers. Lazy ones are read on the host, because they are sizes in most
/// cases.
c10::IValue with_plain_items(const ex::Argument& arg, c10::IValue value) {
  const bool symbolic = arg.tag() == Tag::AS_SYM_INTS || arg.tag() == Tag::AS_SYM_FLOATS ||
                        arg.tag() == Tag::AS_SYM_BOOLS;
  if (!symbolic) return value;
  c10::impl::GenericList list(c10::AnyType::get());
  for (const c10::IValue& item : value.toListRef()) {
    list.push_back(item.isTensor() ? plain_number(item.toTensor()) : item);
  }
  return list;
}

}  // namespace

const c10::IValue& Pt2Values::get(const std::string& name) const {
  const auto it = values_.find(name);
  TORCH_CHECK(it != values_.end(), "the graph uses '", name, "' before it is defined");
  return it->second;
}

c10::IValue Pt2Values::value_of(const ex::Argument& arg) const {
  const auto any = c10::AnyType::get();
  const auto tensor = [this](const ex::TensorArgument& t) { return get(t.get_name()); };
  const auto optional = [this](const ex::OptionalTensorArgument& t) {
    return t.tag() == ex::OptionalTensorArgument::Tag::AS_TENSOR ? get(t.get_as_tensor().get_name())
                                                                 : c10::IValue();
  };
  const auto sym_int = [this](const ex::SymIntArgument& v) {
    return v.tag() == ex::SymIntArgument::Tag::AS_INT ? c10::IValue(v.get_as_int())
                                                      : get(v.get_as_name());
  };
  const auto sym_bool = [this](const ex::SymBoolArgument& v) {
    return v.tag() == ex::SymBoolArgument::Tag::AS_BOOL ? c10::IValue(v.get_as_bool())
                                                        : get(v.get_as_name());
  };
  const auto sym_float = [this](const ex::SymFloatArgument& v) {
    return v.tag() == ex::SymFloatArgument::Tag::AS_FLOAT ? c10::IValue(v.get_as_float().get())
                                                          : get(v.get_as_name());
  };
  switch (arg.tag()) {
    case Tag::AS_NONE:
      return {};
    case Tag::AS_TENSOR:
      return tensor(arg.get_as_tensor());
    case Tag::AS_TENSORS:
      return generic_list(arg.get_as_tensors(), any, tensor);
    case Tag::AS_INT:
      return arg.get_as_int();
    case Tag::AS_INTS:
      return arg.get_as_ints();
    case Tag::AS_FLOAT:
      return arg.get_as_float().get();
    case Tag::AS_FLOATS:
      return generic_list(arg.get_as_floats(), any,
                          [](const ex::F64& v) { return c10::IValue(v.get()); });
    case Tag::AS_STRING:
      return arg.get_as_string();
    case Tag::AS_SYM_INT:
      return sym_int(arg.get_as_sym_int());
    case Tag::AS_SYM_INTS:
      return generic_list(arg.get_as_sym_ints(), any, sym_int);
    case Tag::AS_SCALAR_TYPE:
      return scalar_type_of(arg.get_as_scalar_type(), "an argument");
    case Tag::AS_MEMORY_FORMAT:
      return memory_format_of(arg.get_as_memory_format());
    case Tag::AS_LAYOUT:
      return layout_of(arg.get_as_layout());
    case Tag::AS_DEVICE:
      return at::Device(arg.get_as_device().get_type());
    case Tag::AS_BOOL:
      return arg.get_as_bool();
    case Tag::AS_BOOLS:
      return generic_list(arg.get_as_bools(), any, [](bool v) { return c10::IValue(v); });
    case Tag::AS_SYM_BOOL:
      return sym_bool(arg.get_as_sym_bool());
    case Tag::AS_SYM_BOOLS:
      return generic_list(arg.get_as_sym_bools(), any, sym_bool);
    case Tag::AS_OPTIONAL_TENSORS:
      return generic_list(arg.get_as_optional_tensors(), any, optional);
    case Tag::AS_SYM_FLOAT:
      return sym_float(arg.get_as_sym_float());
    case Tag::AS_SYM_FLOATS:
      return generic_list(arg.get_as_sym_floats(), any, sym_float);
    case Tag::AS_OPTIONAL_TENSOR:
      return optional(arg.get_as_optional_tensor());
    default:
      TORCH_CHECK(false, "an argument of kind ", ex::printEnum(arg.tag()), " is not supported");
  }
}

c10::IValue Pt2Values::value_for(const c10::Argument& schema, const ex::Argument& arg,
                                 at::Device device) const {
  c10::IValue value = with_plain_items(arg, value_of(arg));
  const c10::TypePtr type = strip_optional(schema.type());
  if (value.isNone()) {
    return schema.type()->kind() == c10::TypeKind::TensorType ? c10::IValue(at::Tensor()) : value;
  }
  if (value.isDevice()) return device;
  const c10::TypeKind kind = type->kind();
  if (kind == c10::TypeKind::TensorType && value.isScalar()) return number_tensor(value);
  if (kind == c10::TypeKind::FloatType && value.isScalar()) return value.toScalar().toDouble();
  if (const c10::TypePtr element = list_element(type)) {
    if (!value.isList()) {  // int[2] given as one number
      c10::impl::GenericList list(c10::AnyType::get());
      list.push_back(value);
      value = list;
    }
    return convert_list(element, value);
  }
  return value;
}

void append_names(const ex::Argument& arg, std::vector<std::string>& names) {
  const auto add = [&names](const ex::TensorArgument& t) { names.push_back(t.get_name()); };
  const auto add_optional = [&](const ex::OptionalTensorArgument& t) {
    if (t.tag() == ex::OptionalTensorArgument::Tag::AS_TENSOR) add(t.get_as_tensor());
  };
  const auto add_int = [&](const ex::SymIntArgument& v) {
    if (v.tag() == ex::SymIntArgument::Tag::AS_NAME) names.push_back(v.get_as_name());
  };
  switch (arg.tag()) {
    case Tag::AS_TENSOR:
      add(arg.get_as_tensor());
      break;
    case Tag::AS_TENSORS:
      for (const auto& t : arg.get_as_tensors()) add(t);
      break;
    case Tag::AS_OPTIONAL_TENSOR:
      add_optional(arg.get_as_optional_tensor());
      break;
    case Tag::AS_OPTIONAL_TENSORS:
      for (const auto& t : arg.get_as_optional_tensors()) add_optional(t);
      break;
    case Tag::AS_SYM_INT:
      add_int(arg.get_as_sym_int());
      break;
    case Tag::AS_SYM_INTS:
      for (const auto& v : arg.get_as_sym_ints()) add_int(v);
      break;
    case Tag::AS_SYM_BOOL:
      if (arg.get_as_sym_bool().tag() == ex::SymBoolArgument::Tag::AS_NAME) {
        names.push_back(arg.get_as_sym_bool().get_as_name());
      }
      break;
    case Tag::AS_SYM_FLOAT:
      if (arg.get_as_sym_float().tag() == ex::SymFloatArgument::Tag::AS_NAME) {
        names.push_back(arg.get_as_sym_float().get_as_name());
      }
      break;
    default:
      break;
  }
}

}  // namespace lazyrt
