#include "tests/conformance/case_run.h"

#include <cmath>
#include <cstring>

#include "flatbuffers/minireflect.h"
#include "kernels/common/element.h"

namespace lazyrt {

uint64_t conformance_seed() {
  const char* text = std::getenv("LAZYRT_SEED");
  return text == nullptr ? 20261121 : std::strtoull(text, nullptr, 10);
}

PackedAttrs::PackedAttrs(const fb::OpAttrsUnion& attrs) : kind_(attrs.type) {
  builder_.ForceDefaults(true);
  builder_.Finish(flatbuffers::Offset<flatbuffers::Table>(attrs.Pack(builder_).o));
}

flatbuffers::Table* PackedAttrs::mutable_table() {
  return flatbuffers::GetMutableRoot<flatbuffers::Table>(builder_.GetBufferPointer());
}

const flatbuffers::TypeTable* PackedAttrs::type() const {
  const flatbuffers::TypeTable* all = fb::OpAttrsTypeTable();
  return all->type_refs[all->type_codes[static_cast<size_t>(kind_)].sequence_ref]();
}

std::string PackedAttrs::json() const {
  flatbuffers::ToStringVisitor visitor(" ", true, "", true);
  flatbuffers::IterateFlatBuffer(builder_.GetBufferPointer(), type(), &visitor);
  return visitor.s;
}

namespace {

double draw(const Fill& fill, DType dtype, int64_t i, std::mt19937_64& random) {
  switch (fill.kind) {
    case Fill::Kind::kUniform:
      return std::uniform_real_distribution<double>(fill.a, fill.b)(random);
    case Fill::Kind::kIntegers:
      return static_cast<double>(std::uniform_int_distribution<int64_t>(
          static_cast<int64_t>(fill.a), static_cast<int64_t>(fill.b))(random));
    case Fill::Kind::kValues:
      return fill.values[static_cast<size_t>(i) % fill.values.size()];
    default:
      break;
  }
  const double value = std::normal_distribution<double>(fill.a, fill.b)(random);
  return dtype == DType::kBool ? (value > 0 ? 1 : 0)
         : is_floating(dtype)  ? value
                               : std::round(value);
}

Shape shape_of(const std::vector<int64_t>& dims) {
  return Shape(Span<const int64_t>(dims.data(), dims.size()));
}

std::vector<TensorView> views(const std::vector<GuardedTensor>& tensors) {
  std::vector<TensorView> out;
  for (const GuardedTensor& t : tensors) out.push_back(t.view());
  return out;
}

bool same_bytes(const GuardedTensor& a, const GuardedTensor& b) {
  const size_t bytes = a.view().bytes();
  return bytes == 0 || std::memcmp(a.view().data, b.view().data, bytes) == 0;
}

std::string misuse_of(const CaseNode& node, const std::vector<GuardedTensor>& before,
                      const CaseResult& result, const GuardedBlock& workspace) {
  for (size_t i = 0; i < before.size(); ++i) {
    const bool kept = node.operands[i].guards_intact() && same_bytes(before[i], node.operands[i]);
    if (!kept) return "operand " + std::to_string(i) + " or its guard was written";
  }
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    if (!result.outputs[i].guards_intact()) return "wrote outside result " + std::to_string(i);
  }
  return workspace.guards_intact() ? "" : "wrote outside the workspace";
}

}  // namespace

std::vector<GuardedTensor> draw_operands(const OpCase& op_case, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<GuardedTensor> out;
  for (const CaseOperand& operand : op_case.operands) {
    out.emplace_back(operand.dtype, shape_of(operand.shape));
    if (operand.dtype == DType::kNone) continue;
    for (int64_t i = 0, n = out.back().view().numel(); i < n; ++i) {
      out.back().set(i, draw(operand.fill, operand.dtype, i, random));
    }
  }
  return out;
}

std::vector<TensorSpec> operand_specs(const OpCase& op_case,
                                      const std::vector<GuardedTensor>& operands) {
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorView& v = operands[i].view();
    specs.push_back({v.dtype, v.shape, op_case.operands[i].constant ? v.data : nullptr});
  }
  return specs;
}

CaseNode::CaseNode(const OpEntry& entry, const OpCase& op_case, uint64_t seed)
    : op(entry),
      attrs(op_case.attrs),
      operands(draw_operands(op_case, seed)),
      inputs(operand_specs(op_case, operands)),
      outputs(static_cast<size_t>(entry.def->outputs)) {
  inferred = op.def->infer(attrs.view(), inputs, outputs);
}

CaseResult run_kernel(const CaseNode& node, const Kernel& kernel, void* services) {
  CaseResult result;
  CountingAllocator allocator;
  PreparedKernel prepared;
  if (kernel.prepare != nullptr) {
    result.status = kernel.prepare({node.spec(), allocator.hooks(), services}, &prepared);
    if (!result.status.ok()) return result;
  }
  std::vector<GuardedTensor> before;
  for (const GuardedTensor& t : node.operands) before.push_back(t.clone());
  for (const TensorSpec& s : node.outputs) result.outputs.emplace_back(s.dtype, s.shape);
  const GuardedBlock workspace(prepared.workspace_bytes);
  const std::vector<TensorView> inputs = views(node.operands);
  const std::vector<TensorView> outputs = views(result.outputs);
  RunContext context = {node.attrs.view(), inputs, outputs, workspace.data(), services, true};
  result.status = kernel.run(prepared.state, context);
  std::vector<GuardedTensor> first;
  for (const GuardedTensor& t : result.outputs) first.push_back(t.clone());
  if (result.status.ok()) {
    context.rebind = false;
    result.status = kernel.run(prepared.state, context);
  }
  result.misuse = misuse_of(node, before, result, workspace);
  for (size_t i = 0; result.misuse.empty() && i < first.size(); ++i) {
    if (!same_bytes(first[i], result.outputs[i])) result.misuse = "the second run differs";
  }
  if (kernel.release != nullptr) kernel.release(prepared.state, allocator.hooks());
  if (allocator.live != 0) result.misuse = "release left memory behind";
  return result;
}

CaseResult run_in_place(const CaseNode& node, size_t input) {
  const Kernel& kernel = node.op.def->reference;
  CaseResult result;
  CountingAllocator allocator;
  PreparedKernel prepared;
  if (kernel.prepare != nullptr) {
    result.status = kernel.prepare({node.spec(), allocator.hooks(), nullptr}, &prepared);
    if (!result.status.ok()) return result;
  }
  const GuardedBlock workspace(prepared.workspace_bytes);
  std::vector<TensorView> inputs = views(node.operands);
  result.outputs.push_back(node.operands[input].clone());
  inputs[input] = result.outputs[0].view();
  TensorView output = result.outputs[0].view();
  output.dtype = node.outputs[0].dtype;
  const Span<const TensorView> outputs(&output, 1);
  result.status = kernel.run(prepared.state,
                             {node.attrs.view(), inputs, outputs, workspace.data(), nullptr, true});
  if (kernel.release != nullptr) kernel.release(prepared.state, allocator.hooks());
  return result;
}

std::string difference(const GuardedTensor& expected, const GuardedTensor& actual,
                       double tolerance) {
  const TensorView& e = expected.view();
  const TensorView& a = actual.view();
  if (e.dtype != a.dtype || e.shape != a.shape) return "type or shape differ";
  const int64_t count = e.numel();
  double largest = 1;
  for (int64_t i = 0; i < count; ++i) {
    const double v = std::fabs(expected.at(i));
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  const double allowed = is_floating(e.dtype) ? tolerance * largest : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = expected.at(i), y = actual.at(i);
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= allowed;
    if (same && std::isnan(x) == std::isnan(y)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(y) + ", must be " +
           std::to_string(x) + " within " + std::to_string(allowed);
  }
  return "";
}

Allocator CountingAllocator::hooks() {
  return {this,
          [](void* context, size_t bytes, size_t alignment) -> void* {
            void* memory = nullptr;
            if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) != 0)
              return nullptr;
            ++static_cast<CountingAllocator*>(context)->live;
            return memory;
          },
          [](void* context, void* pointer) {
            if (pointer != nullptr) --static_cast<CountingAllocator*>(context)->live;
            std::free(pointer);
          }};
}

OpenBackend::OpenBackend(const Backend* backend, int threads) : backend_(backend) {
  if (backend_->open != nullptr) {
    status_ = backend_->open({threads, allocator_.hooks(), nullptr}, &services_);
  }
}

OpenBackend::~OpenBackend() {
  if (backend_->close != nullptr && status_.ok()) backend_->close(services_, allocator_.hooks());
}

}  // namespace lazyrt
