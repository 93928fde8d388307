#include "tests/support/tiny_bundle.h"

#include <stdexcept>

namespace lazyrt::test {

const float kTinyX[6] = {1, -20, 3, 4, 5, -60};
const int64_t kTinyIds[2] = {1, 0};
const float kTinyW[6] = {1, 2, 3, 4, 5, 6};
const float kTinyTotal[6] = {15, 21, 0, 15, 0, 27};

MethodBuilder::MethodBuilder(BundleParts* parts, const std::string& name)
    : parts_(parts), index_(parts->bundle.methods.size()) {
  parts->bundle.methods.push_back(std::make_unique<fb::MethodT>());
  method().name = name;
}

uint64_t MethodBuilder::place(uint64_t bytes) {
  const uint64_t offset = method().arena_bytes;
  method().arena_bytes += room_of(bytes);
  return offset;
}

int MethodBuilder::add_value(const std::string& name, fb::ValueKind kind, DType dtype,
                             const std::vector<int64_t>& shape) {
  auto value = std::make_unique<fb::ValueT>();
  value->name = name;
  value->kind = kind;
  value->dtype = static_cast<fb::DType>(dtype);
  value->shape = shape;
  value->bytes = dtype_size(dtype);
  for (int64_t d : shape) value->bytes *= static_cast<uint64_t>(d);
  method().values.push_back(std::move(value));
  return static_cast<int>(method().values.size()) - 1;
}

int MethodBuilder::input(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  const int id = add_value(name, fb::ValueKind::Input, dtype, shape);
  method().values.back()->offset = place(method().values.back()->bytes);
  auto binding = std::make_unique<fb::BindingT>();
  binding->name = name;
  binding->value = id;
  method().inputs.push_back(std::move(binding));
  return id;
}

int MethodBuilder::constant(const std::string& name, DType dtype, std::vector<int64_t> shape,
                            const void* data) {
  const int id = add_value(name, fb::ValueKind::Constant, dtype, shape);
  fb::ValueT& value = *method().values.back();
  value.offset = BundleParts::append(&parts_->constants, data, value.bytes);
  return id;
}

int MethodBuilder::state(const std::string& name, DType dtype, const std::vector<int64_t>& shape) {
  auto state = std::make_unique<fb::StateT>();
  state->name = name;
  state->value = state->next = add_value(name, fb::ValueKind::State, dtype, shape);
  method().states.push_back(std::move(state));
  return method().states.back()->value;
}

int MethodBuilder::add_node(const fb::OpAttrsUnion& op, const std::vector<int>& inputs, DType dtype,
                            const std::vector<int64_t>& shape, int alias_of) {
  const int id = add_value("", fb::ValueKind::Arena, dtype, shape);
  fb::ValueT& value = *method().values.back();
  value.alias_of = alias_of;
  value.offset =
      alias_of < 0 ? place(value.bytes) : method().values[static_cast<size_t>(alias_of)]->offset;
  auto node = std::make_unique<fb::NodeT>();
  node->op = op;
  node->inputs.assign(inputs.begin(), inputs.end());
  node->outputs = {id};
  method().nodes.push_back(std::move(node));
  return id;
}

TensorSpec MethodBuilder::spec_of(int value) {
  if (value < 0) return {};
  const fb::ValueT& v = *method().values[static_cast<size_t>(value)];
  return {static_cast<DType>(v.dtype), Shape(Span<const int64_t>(v.shape)), nullptr};
}

int MethodBuilder::infer_node(const OpTable& ops, const fb::OpAttrsUnion& op,
                              const std::vector<int>& inputs) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<void>(op.Pack(builder)));
  const OpAttrs attrs = {op.type, flatbuffers::GetRoot<void>(builder.GetBufferPointer())};
  const OpDef& def = *ops.find(attrs)->def;
  std::vector<TensorSpec> in;
  for (int id : inputs) in.push_back(spec_of(id));
  std::vector<TensorSpec> out(static_cast<size_t>(def.outputs));
  const Status status = def.infer(attrs, in, out);
  if (!status.ok()) throw std::runtime_error(status.message());
  auto node = std::make_unique<fb::NodeT>();
  node->op = op;
  node->inputs.assign(inputs.begin(), inputs.end());
  for (const TensorSpec& spec : out) {
    const int id =
        add_value("", fb::ValueKind::Arena, spec.dtype, {spec.shape.begin(), spec.shape.end()});
    method().values.back()->offset = place(method().values.back()->bytes);
    node->outputs.push_back(id);
  }
  method().nodes.push_back(std::move(node));
  return method().nodes.back()->outputs[0];
}

void MethodBuilder::output(const std::string& name, int value) {
  auto binding = std::make_unique<fb::BindingT>();
  binding->name = name;
  binding->value = value;
  method().outputs.push_back(std::move(binding));
}

fb::UnaryT relu() {
  fb::UnaryT t;
  t.fn = fb::UnaryFn::Relu;
  return t;
}

fb::BinaryT add() {
  fb::BinaryT t;
  t.fn = fb::BinaryFn::Add;
  return t;
}

fb::ReshapeT reshape(std::vector<int64_t> shape) {
  fb::ReshapeT t;
  t.shape = std::move(shape);
  return t;
}

namespace {

std::unique_ptr<fb::BlobT> blob(BundleParts* parts, DType dtype, std::vector<int64_t> shape,
                                const void* data, size_t bytes) {
  auto b = std::make_unique<fb::BlobT>();
  b->dtype = static_cast<fb::DType>(dtype);
  b->shape = std::move(shape);
  b->bytes = bytes;
  b->offset = BundleParts::append(&parts->samples, data, bytes);
  return b;
}

std::unique_ptr<fb::SampleT> tiny_sample(BundleParts* parts) {
  auto sample = std::make_unique<fb::SampleT>();
  sample->inputs.push_back(blob(parts, DType::kFloat32, {2, 3}, kTinyX, sizeof(kTinyX)));
  sample->inputs.push_back(blob(parts, DType::kInt64, {2}, kTinyIds, sizeof(kTinyIds)));
  sample->outputs.push_back(blob(parts, DType::kFloat32, {6}, kTinyTotal, sizeof(kTinyTotal)));
  sample->outputs.push_back(blob(parts, DType::kFloat32, {2, 3}, kTinyX, sizeof(kTinyX)));
  sample->outputs.push_back(blob(parts, DType::kFloat32, {2, 3}, kTinyW, sizeof(kTinyW)));
  sample->outputs.push_back(blob(parts, DType::kFloat32, {6}, kTinyTotal, sizeof(kTinyTotal)));
  sample->absolute = 0.5f;
  sample->relative = 0.25f;
  return sample;
}

std::unique_ptr<fb::SourceT> source(const std::string& aten, int line) {
  auto s = std::make_unique<fb::SourceT>();
  s->aten = aten;
  s->module_path = "body.act";
  s->file = "model.py";
  s->line = line;
  return s;
}

}  // namespace

BundleParts tiny_bundle() {
  BundleParts parts;
  parts.bundle.producer = "tiny 1.0";
  MethodBuilder b(&parts);
  const DType f32 = DType::kFloat32;
  b.input("x", f32, {2, 3});
  b.input("ids", DType::kInt64, {2});
  b.constant("w", f32, {2, 3}, kTinyW);
  b.node(fb::IndexSelectT{}, {tiny::kX, tiny::kIds}, f32, {2, 3});
  b.node(add(), {tiny::kRows, tiny::kW}, f32, {2, 3});
  b.node(relu(), {tiny::kSum}, f32, {2, 3}, tiny::kSum);
  b.node(reshape({6}), {tiny::kRelu}, f32, {6}, tiny::kRelu);
  fb::CustomOpT twice;
  twice.name = "test.twice";
  twice.version = 1;
  b.node(twice, {tiny::kFlat}, f32, {6});
  b.node(add(), {tiny::kTwice, tiny::kFlat}, f32, {6}, tiny::kTwice);
  b.output("total", tiny::kTotal);
  b.output("same_x", tiny::kX);
  b.output("same_w", tiny::kW);
  b.output("again", tiny::kTotal);
  fb::MethodT& m = b.method();
  m.sources.push_back(source("aten::index_select", 11));
  m.sources.push_back(source("aten::relu", 33));
  m.nodes[tiny::kRowsNode]->source = 0;
  m.nodes[tiny::kReluNode]->source = 1;
  auto literal = std::make_unique<fb::LiteralT>();
  literal->name = "count";
  literal->position = 2;
  literal->dtype = fb::DType::Int64;
  literal->integer = 6;
  m.literals.push_back(std::move(literal));
  m.samples.push_back(tiny_sample(&parts));
  auto info = std::make_unique<fb::KeyValueT>();
  info->key = "torch";
  info->value = "none";
  parts.bundle.info.push_back(std::move(info));
  return parts;
}

}  // namespace lazyrt::test
