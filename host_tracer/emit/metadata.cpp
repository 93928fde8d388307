#include "host_tracer/emit/metadata.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "host_tracer/emit/texts.h"
#include "host_tracer/graph/guards.h"

namespace lazyrt {
namespace {

fb::DType to_fb(DType t) { return static_cast<fb::DType>(t); }

template <class Dims>
std::vector<int64_t> dims_of(const Dims& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

struct LiteralWriter {
  fb::LiteralT* literal;
  void operator()(bool v) const { set(fb::DType::Bool, v ? 1 : 0, v ? 1.0 : 0.0); }
  void operator()(int64_t v) const { set(fb::DType::Int64, v, static_cast<double>(v)); }
  void operator()(double v) const { set(fb::DType::Float64, 0, v); }
  void set(fb::DType dtype, int64_t integer, double real) const {
    literal->dtype = dtype;
    literal->integer = integer;
    literal->real = real;
  }
};

struct SeenWriter {
  fb::GuardT* guard;
  DType dtype;
  void operator()(bool v) const {
    guard->kind = fb::GuardKind::Truth;
    guard->seen_integer = v ? 1 : 0;
  }
  void operator()(int64_t v) const { guard->seen_integer = v; }
  void operator()(double v) const {
    guard->seen_real = v;
    guard->tolerance = guard_tolerance(dtype, v);
  }
};

bool all_zero(const ConstantData& data) {
  for (size_t i = 0; i < data.bytes; ++i) {
    if (data.data[i] != 0) return false;
  }
  return true;
}

class MethodWriter {
 public:
  MethodWriter(const MethodVariant& variant, const EmitOptions& options, Section* constants,
               Section* samples)
      : variant_(variant),
        graph_(variant.graph),
        plan_(variant.plan),
        options_(options),
        constants_(constants),
        samples_(samples) {}

  Outcome<std::unique_ptr<fb::MethodT>> write() {
    method_->name = interface_name(options_.method, "forward");
    method_->arena_bytes = plan_.arena_bytes;
    method_->reserved_bytes = variant_.reserved_bytes;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id) add_value(id);
    for (const Node& node : graph_.nodes()) add_node(node);
    for (const GraphGuard& guard : graph_.guards()) add_guard(guard);
    for (const GraphState& state : graph_.states()) add_state(state);
    LAZYRT_TRY(add_interface());
    if (variant_.dynamic != nullptr) add_symbols(*variant_.dynamic);
    if (options_.strip_samples) return std::move(method_);
    LAZYRT_TRY(add_sample(graph_.sample_inputs, graph_.sample_outputs));
    for (const SamplePair& pair : variant_.more_samples)
      LAZYRT_TRY(add_sample(pair.inputs, pair.outputs));
    return std::move(method_);
  }

 private:
  void add_value(ValueId id) {
    const Value& v = graph_.value(id);
    const ValuePlan& planned = plan_.values[static_cast<size_t>(id)];
    auto value = std::make_unique<fb::ValueT>();
    value->dtype = to_fb(v.dtype);
    value->shape = dims_of(v.shape);
    value->bytes = planned.bytes;
    value->offset = planned.offset;
    value->alias_of = planned.alias_of;
    value->kind = fb::ValueKind::Arena;
    if (v.kind == ValueKind::kInput) value->kind = fb::ValueKind::Input;
    if (v.kind == ValueKind::kState) value->kind = fb::ValueKind::State;
    if (v.kind == ValueKind::kConstant) {
      value->kind = fb::ValueKind::Constant;
      value->offset = constants_->add(v.constant.data, v.constant.bytes);
    }
    if (v.kind != ValueKind::kNode) value->name = v.name;
    if (v.quantization) {
      value->quantization = std::make_unique<fb::QuantizationT>();
      value->quantization->scales = v.quantization->scales;
      value->quantization->zero_points = v.quantization->zero_points;
      value->quantization->axis = v.quantization->axis;
    }
    method_->values.push_back(std::move(value));
  }

  void add_node(const Node& node) {
    auto made = std::make_unique<fb::NodeT>();
    made->op = node.attrs.unpack();
    made->inputs = node.inputs;
    made->outputs = node.outputs;
    made->source = source_index(node.source);
    method_->nodes.push_back(std::move(made));
  }

  void add_guard(const GraphGuard& guard) {
    auto made = std::make_unique<fb::GuardT>();
    made->value = guard.value;
    made->source = source_index(guard.source);
    made->text = guard.text;
    made->check = guard.check;
    std::visit(SeenWriter{made.get(), graph_.value(guard.value).dtype}, guard.seen);
    method_->guards.push_back(std::move(made));
  }

  void add_state(const GraphState& state) {
    const Value& v = graph_.value(state.value);
    auto made = std::make_unique<fb::StateT>();
    made->name = state_names_.unique(v.name, "state_" + std::to_string(method_->states.size()));
    made->value = state.value;
    made->next = state.next;
    if (!all_zero(v.constant)) {
      made->initial = static_cast<int32_t>(method_->values.size());
      auto first = std::make_unique<fb::ValueT>(*method_->values[static_cast<size_t>(state.value)]);
      first->kind = fb::ValueKind::Constant;
      first->offset = constants_->add(v.constant.data, v.constant.bytes);
      method_->values.push_back(std::move(first));
    }
    method_->states.push_back(std::move(made));
  }

  void add_symbols(const DynamicGraph& dynamic) {
    for (const DimSymbol& symbol : dynamic.shapes().symbols) {
      auto made = std::make_unique<fb::SymbolT>();
      made->name =
          symbol_names_.unique(symbol.name, "size_" + std::to_string(method_->symbols.size()));
      made->min = symbol.min;
      made->max = symbol.max;
      made->multiple = symbol.multiple;
      method_->symbols.push_back(std::move(made));
    }
    for (size_t id = 0; id < dynamic.model().value_count(); ++id) {
      const std::vector<int32_t>& dims = dynamic.model().value(static_cast<ValueId>(id)).symbols;
      const bool any = std::any_of(dims.begin(), dims.end(), [](int s) { return s >= 0; });
      if (any) method_->values[id]->symbols = dims;
    }
    method_->terms = dynamic.terms().all();
    method_->patches = dynamic.patches();
  }

  int32_t source_index(const Source& source) {
    const Source portable = portable_source(source);
    if (portable.aten.empty() && portable.module_path.empty() && portable.file.empty()) return -1;
    const auto key = std::tuple(portable.aten, portable.module_path, portable.file, portable.line);
    const auto next = static_cast<int32_t>(method_->sources.size());
    const auto [it, is_new] = source_ids_.try_emplace(key, next);
    if (is_new) {
      auto made = std::make_unique<fb::SourceT>();
      std::tie(made->aten, made->module_path, made->file, made->line) = key;
      method_->sources.push_back(std::move(made));
    }
    return it->second;
  }

  Outcome<Done> add_interface() {
    Names in_names, out_names;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      auto binding = std::make_unique<fb::BindingT>();
      binding->value = graph_.inputs()[i];
      binding->name =
          in_names.unique(graph_.value(binding->value).name, "input_" + std::to_string(i));
      method_->inputs.push_back(std::move(binding));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& out = graph_.outputs()[i];
      if (!out.literal && graph_.value(out.value).kind == ValueKind::kState) {
        return Failure{Error::kInternal, "output \"" + out.name +
                                             "\" is a state: the pass separate_states did not run"};
      }
      add_output(out, out_names.unique(out.name, "output_" + std::to_string(i)), i);
    }
    return Done{};
  }

  void add_output(const GraphOutput& out, const std::string& name, size_t position) {
    if (!out.literal) {
      auto binding = std::make_unique<fb::BindingT>();
      binding->name = name;
      binding->value = out.value;
      method_->outputs.push_back(std::move(binding));
      return;
    }
    auto literal = std::make_unique<fb::LiteralT>();
    literal->name = name;
    literal->position = static_cast<uint32_t>(position);
    std::visit(LiteralWriter{literal.get()}, *out.literal);
    method_->literals.push_back(std::move(literal));
  }

  Outcome<std::unique_ptr<fb::BlobT>> blob(const SampleTensor& tensor, ValueId id,
                                           const std::string& name) {
    const Value& v = graph_.value(id);
    if (tensor.dtype != v.dtype || tensor.shape != dims_of(v.shape) ||
        tensor.data.bytes != v.bytes()) {
      const Shape shape = Shape(Span<const int64_t>(
          tensor.shape.data(), std::min<size_t>(tensor.shape.size(), kMaxRank)));
      return Failure{Error::kInternal, "sample of \"" + name + "\" is " + dtype_name(tensor.dtype) +
                                           shape_text(shape).text + ", the graph has " +
                                           dtype_name(v.dtype) + shape_text(v.shape).text};
    }
    auto made = std::make_unique<fb::BlobT>();
    made->dtype = to_fb(tensor.dtype);
    made->shape = tensor.shape;
    made->bytes = tensor.data.bytes;
    made->offset = samples_->add(tensor.data.data, tensor.data.bytes);
    return made;
  }

  /// Nothing when the sample is not there as a whole.
  Outcome<Done> add_sample(const std::vector<SampleTensor>& inputs,
                           const std::vector<SampleTensor>& outputs) {
    if (inputs.size() != graph_.inputs().size() || outputs.size() != graph_.outputs().size())
      return Done{};
    auto sample = std::make_unique<fb::SampleT>();
    sample->absolute = options_.absolute;
    sample->relative = options_.relative;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ValueId id = graph_.inputs()[i];
      auto made = blob(inputs[i], id, graph_.value(id).name);
      if (!made.ok()) return made.failure();
      sample->inputs.push_back(std::move(*made));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& out = graph_.outputs()[i];
      if (out.literal) continue;
      auto made = blob(outputs[i], out.value, out.name);
      if (!made.ok()) return made.failure();
      sample->outputs.push_back(std::move(*made));
    }
    method_->samples.push_back(std::move(sample));
    return Done{};
  }

  const MethodVariant& variant_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  const EmitOptions& options_;
  Section* constants_;
  Section* samples_;
  std::unique_ptr<fb::MethodT> method_ = std::make_unique<fb::MethodT>();
  Names state_names_, symbol_names_;
  std::map<std::tuple<std::string, std::string, std::string, int>, int32_t> source_ids_;
};

}  // namespace

std::string portable_path(const std::string& file) {
  static const std::string packages = "/site-packages/";
  const size_t at = file.rfind(packages);
  if (at != std::string::npos) return file.substr(at + packages.size());
  if (file.empty() || file[0] != '/') return file;
  const size_t name = file.rfind('/');
  const size_t folder = name == 0 ? std::string::npos : file.rfind('/', name - 1);
  return file.substr(folder == std::string::npos ? name + 1 : folder + 1);
}

Outcome<fb::BundleT> make_metadata(const std::vector<MethodVariant>& variants,
                                   const EmitOptions& options, Section* constants,
                                   Section* samples) {
  fb::BundleT bundle;
  bundle.producer = options.producer;
  for (const MethodVariant& variant : variants) {
    auto method = MethodWriter(variant, options, constants, samples).write();
    if (!method.ok()) return method.failure();
    auto& list = bundle.methods.empty() ? bundle.methods : bundle.methods[0]->variants;
    list.push_back(std::move(*method));
  }
  for (const auto& [key, value] : options.info) {
    auto pair = std::make_unique<fb::KeyValueT>();
    pair->key = key;
    pair->value = value;
    bundle.info.push_back(std::move(pair));
  }
  limit_texts(&bundle);
  return bundle;
}

}  // namespace lazyrt
