#include "tests/support/tiny_ops.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lazyrt::test {
namespace {

Status need_f32(Span<const TensorSpec> inputs) {
  for (const TensorSpec& x : inputs) {
    if (x.dtype != DType::kFloat32)
      return Fault(Error::kUnsupported, "dtype %s", dtype_name(x.dtype));
  }
  return {};
}

Fault infer_same(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(need_f32(in));
  out[0] = {in[0].dtype, in[0].shape};
  return {};
}

Fault infer_unary(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  if (attrs.as<fb::Unary>().fn() != fb::UnaryFn::Relu)
    return Fault(Error::kUnsupported, "only relu");
  return infer_same(attrs, in, out);
}

Fault run_relu(void*, const RunContext& c) {
  const float* x = c.inputs[0].as<float>();
  float* y = c.outputs[0].as<float>();
  for (int64_t i = 0; i < c.outputs[0].numel(); ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return {};
}

Fault infer_binary(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  if (attrs.as<fb::Binary>().fn() != fb::BinaryFn::Add)
    return Fault(Error::kUnsupported, "only add");
  if (in[0].shape != in[1].shape) {
    return Fault(Error::kInvalidArgument, "shapes %s and %s differ", shape_text(in[0].shape).text,
                 shape_text(in[1].shape).text);
  }
  return infer_same(attrs, in, out);
}

/// The state holds the number of elements, the workspace a copy of the first operand.
Fault prepare_add(const PrepareContext& c, PreparedKernel* prepared) {
  auto* state =
      static_cast<int64_t*>(c.allocator.allocate(c.allocator.context, sizeof(int64_t), 8));
  if (state == nullptr) return Fault(Error::kOutOfMemory, "no memory for add");
  *state = c.node.outputs[0].numel();
  prepared->state = state;
  prepared->workspace_bytes = c.node.outputs[0].bytes();
  prepared->packed_weight_bytes =
      c.node.inputs[1].constant != nullptr ? c.node.inputs[1].bytes() : 0;
  return {};
}

Fault run_add(void* state, const RunContext& c) {
  const int64_t n = *static_cast<int64_t*>(state);
  auto* copy = static_cast<float*>(c.workspace);
  if (n != 0) std::memcpy(copy, c.inputs[0].data, static_cast<size_t>(n) * sizeof(float));
  const float* b = c.inputs[1].as<float>();
  float* y = c.outputs[0].as<float>();
  for (int64_t i = 0; i < n; ++i) y[i] = copy[i] + b[i];
  return {};
}

void release_add(void* state, const Allocator& allocator) {
  allocator.release(allocator.context, state);
}

Fault infer_reshape(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(need_f32(in));
  const auto* shape = attrs.as<fb::Reshape>().shape();
  const size_t rank = shape == nullptr ? 0 : shape->size();
  if (rank > kMaxRank) return Fault(Error::kInvalidArgument, "rank %zu", rank);
  Shape to;
  for (size_t i = 0; i < rank; ++i) to.append(shape->Get(static_cast<uint32_t>(i)));
  int64_t numel = 0;
  if (!to.checked_numel(&numel) || numel != in[0].numel()) {
    return Fault(Error::kInvalidArgument, "%s does not fit into %s", shape_text(in[0].shape).text,
                 shape_text(to).text);
  }
  out[0] = {in[0].dtype, to};
  return {};
}

Fault run_reshape(void*, const RunContext& c) {
  if (c.outputs[0].data != c.inputs[0].data)
    std::memmove(c.outputs[0].data, c.inputs[0].data, c.outputs[0].bytes());
  return {};
}

Fault infer_rows(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  if (attrs.as<fb::IndexSelect>().axis() != 0) return Fault(Error::kInvalidArgument, "only axis 0");
  if (in[0].dtype != DType::kFloat32 || in[0].shape.rank() != 2 || in[1].dtype != DType::kInt64 ||
      in[1].shape.rank() != 1) {
    return Fault(Error::kInvalidArgument, "takes an f32 matrix and i64 ids");
  }
  out[0] = {DType::kFloat32, Shape({in[1].shape[0], in[0].shape[1]})};
  return {};
}

Fault run_rows(void*, const RunContext& c) {
  const int64_t rows = c.inputs[0].shape[0];
  const auto columns = static_cast<size_t>(c.inputs[0].shape[1]);
  for (int64_t i = 0; i < c.inputs[1].numel(); ++i) {
    const int64_t id = c.inputs[1].as<int64_t>()[i];
    if (id < 0 || id >= rows)
      return Fault(Error::kOutOfRange, "id %lld of %lld rows", (long long)id, (long long)rows);
    const float* row = c.inputs[0].as<float>() + static_cast<size_t>(id) * columns;
    std::copy(row, row + columns, c.outputs[0].as<float>() + static_cast<size_t>(i) * columns);
  }
  return {};
}

Fault run_twice(void*, const RunContext& c) {
  for (int64_t i = 0; i < c.outputs[0].numel(); ++i)
    c.outputs[0].as<float>()[i] = 2 * c.inputs[0].as<float>()[i];
  return {};
}

struct Table {
  OpDef unary = define_op(infer_unary, work_by_size, run_relu);
  OpDef binary = define_op(infer_binary, work_by_size, run_add).with_inputs(2, 2);
  OpDef reshape = define_op(infer_reshape, work_by_size, run_reshape);
  OpDef rows = define_op(infer_rows, work_by_size, run_rows).with_inputs(2, 2);
  OpDef twice = define_op(infer_same, work_by_size, run_twice);
  std::array<OpEntry, static_cast<size_t>(fb::OpAttrs::MAX) + 1> entries;
  std::array<CustomOpEntry, 1> custom;
  OpTable table;

  void add(fb::OpAttrs kind, const char* name, const OpDef& def) {
    entries[static_cast<size_t>(kind)] = {kind, name, &def, {&def.reference}};
  }
  Table() {
    unary.inplace_inputs = 1;
    binary.inplace_inputs = 3;
    binary.reference.prepare = prepare_add;
    binary.reference.release = release_add;
    reshape.is_view = true;
    add(fb::OpAttrs::Unary, "unary", unary);
    add(fb::OpAttrs::Binary, "binary", binary);
    add(fb::OpAttrs::Reshape, "reshape", reshape);
    add(fb::OpAttrs::IndexSelect, "index_select", rows);
    custom[0] = {"test.twice", 1, {fb::OpAttrs::CustomOp, "twice", &twice, {&twice.reference}}};
    table = {Span<const OpEntry>(entries.data(), entries.size()),
             Span<const CustomOpEntry>(custom.data(), custom.size())};
  }
};

}  // namespace

const OpTable& tiny_ops() {
  static const Table kTable;
  return kTable.table;
}

}  // namespace lazyrt::test
