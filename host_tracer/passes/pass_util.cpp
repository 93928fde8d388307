#include "host_tracer/passes/pass_util.h"

#include <cmath>
#include <cstring>

#include "host_tracer/graph/elements.h"
#include "host_tracer/graph/evaluate.h"

namespace lazyrt {

std::vector<double> constant_elements(const Value& constant) {
  std::vector<double> elements(static_cast<size_t>(constant.shape.numel()));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = read_element(constant.dtype, constant.constant.data, static_cast<int64_t>(i));
  }
  return elements;
}

std::optional<double> uniform_value(const Value& value) {
  if (value.kind != ValueKind::kConstant || value.shape.numel() == 0) return std::nullopt;
  const size_t size = dtype_size(value.dtype);
  if (size == 0) return std::nullopt;  // elements share a byte
  const uint8_t* bytes = value.constant.data;
  // All equal when each element equals the one before it.
  if (std::memcmp(bytes, bytes + size, value.constant.bytes - size) != 0) return std::nullopt;
  return read_element(value.dtype, bytes, 0);
}

ValueId add_elements(Graph& graph, std::string name, DType dtype, const Shape& shape,
                     const std::vector<double>& elements) {
  const HostTensor tensor = HostTensor::make(dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    write_element(dtype, tensor.data.get(), static_cast<int64_t>(i), elements[i]);
  }
  return graph.add_constant(std::move(name), dtype, shape, tensor.constant_data());
}

bool is_weighted(fb::OpAttrs kind) {
  return kind == fb::OpAttrs::Conv2d || kind == fb::OpAttrs::ConvTranspose2d ||
         kind == fb::OpAttrs::Linear;
}

ClampRange clamp_range(const Attrs& attrs) {
  switch (attrs.kind()) {
    case fb::OpAttrs::Conv2d:
      return {attrs.as<fb::Conv2d>().min(), attrs.as<fb::Conv2d>().max()};
    case fb::OpAttrs::ConvTranspose2d:
      return {attrs.as<fb::ConvTranspose2d>().min(), attrs.as<fb::ConvTranspose2d>().max()};
    default:
      return {attrs.as<fb::Linear>().min(), attrs.as<fb::Linear>().max()};
  }
}

namespace {

template <class TableT>
void set_range(TableT* table, ClampRange range) {
  table->min = range.min;
  table->max = range.max;
}

}  // namespace

Attrs with_clamp(const Attrs& attrs, ClampRange range) {
  fb::OpAttrsUnion u = attrs.unpack();
  if (u.type == fb::OpAttrs::Conv2d) set_range(u.AsConv2d(), range);
  if (u.type == fb::OpAttrs::ConvTranspose2d) set_range(u.AsConvTranspose2d(), range);
  if (u.type == fb::OpAttrs::Linear) set_range(u.AsLinear(), range);
  return Attrs(u);
}

bool is_unclamped(const Attrs& attrs) {
  const ClampRange range = clamp_range(attrs);
  return range.min == -INFINITY && range.max == INFINITY;
}

}  // namespace lazyrt
