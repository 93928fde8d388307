#include "host_tracer/report/bundle_info.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "host_tracer/graph/attrs.h"
#include "host_tracer/report/flops.h"
#include "host_tracer/report/shared_texts.h"
#include "host_tracer/trace/trace.h"
#include "lazyrt/runtime.h"
#include "runtime/bundle/reader.h"

namespace lazyrt {
namespace {

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// `extent_of(dim)` returns how the extent follows from a symbol of the method.
template <class ExtentOf>
TensorLine tensor_line(const Method& method, const TensorInfo& info, const ExtentOf& extent_of,
                       SharedTexts* texts) {
  TensorLine line = {info.name, info.dtype, dims_of(info.shape), {}};
  for (int d = 0; method.symbol_count() > 0 && d < info.shape.rank(); ++d) {
    const ExtentInfo extent = extent_of(d);
    std::string symbol;
    if (extent.symbol >= 0) {
      const char* name = method.symbol(static_cast<size_t>(extent.symbol)).name;
      symbol = DimExtent(extent.symbol, extent.factor, extent.offset).text(texts->take(name));
    }
    line.symbols.push_back(std::move(symbol));
  }
  return line;
}

TensorLine input_line(const Method& method, size_t i, size_t variant, SharedTexts* texts) {
  return tensor_line(
      method, method.input(i, variant), [&](int d) { return method.input_extent(i, d); }, texts);
}

TensorLine output_line(const Method& method, size_t i, size_t variant, SharedTexts* texts) {
  return tensor_line(
      method, method.output(i, variant),
      [&](int d) {
        return ExtentInfo{method.output_symbol(i, d, variant), 1, 0};
      },
      texts);
}

LiteralLine literal_line(const LiteralInfo& info) {
  char text[40];
  if (info.dtype == DType::kBool) {
    std::snprintf(text, sizeof text, "%s", info.integer != 0 ? "true" : "false");
  } else if (is_floating(info.dtype)) {
    std::snprintf(text, sizeof text, "%.17g", info.real);
  } else {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(info.integer));
  }
  return {info.name, info.dtype, text, info.position};
}

/// "model.py:12", or empty.
std::string place_of(const fb::Source& source, SharedTexts* texts) {
  const std::string file = texts->take(source.file());
  return file.empty() ? file : file + ":" + std::to_string(source.line());
}

GuardLine guard_line(const fb::Method& tables, const GuardInfo& info, size_t i,
                     SharedTexts* texts) {
  const LiteralInfo seen = {"", 0, info.dtype, info.integer, info.real};
  GuardLine line = {info.text, literal_line(seen).text, "", info.check};
  const int32_t source = tables.guards()->Get(static_cast<uint32_t>(i))->source();
  if (source >= 0) {
    line.source = place_of(*tables.sources()->Get(static_cast<uint32_t>(source)), texts);
  }
  return line;
}

DimSymbol dim_symbol(const SymbolInfo& info) {
  return {info.name, info.min, info.max, info.multiple};
}

VariantLine variant_line(const Method& method, const fb::Method& tables, size_t variant,
                         SharedTexts* texts) {
  VariantLine line;
  for (size_t i = 0; i < method.symbol_count() && method.variant_count() > 1; ++i)
    line.symbols.push_back(dim_symbol(method.variant_symbol(i, variant)));
  for (size_t i = 0; i < method.input_count(); ++i)
    line.inputs.push_back(input_line(method, i, variant, texts));
  for (size_t i = 0; i < method.output_count(); ++i)
    line.outputs.push_back(output_line(method, i, variant, texts));
  const fb::Method& m =
      variant == 0 ? tables : *tables.variants()->Get(static_cast<uint32_t>(variant - 1));
  for (size_t i = 0; i < method.guard_count(variant); ++i)
    line.guards.push_back(guard_line(m, method.guard(i, variant), i, texts));
  line.nodes = count_of(m.nodes());
  line.samples = count_of(m.samples());
  return line;
}

ValueLine value_line(const fb::Value& value) {
  ValueLine line;
  line.name = text_of(value.name());
  line.kind = fb::EnumNameValueKind(value.kind());
  line.dtype = dtype_of(value.dtype());
  line.shape = dims_of(shape_of(value.shape()));
  line.offset = value.offset();
  line.bytes = value.bytes();
  line.alias_of = value.alias_of();
  return line;
}

std::vector<int> ids_of(const flatbuffers::Vector<int32_t>* ids) {
  const Span<const int32_t> span = ints_of(ids);
  return {span.begin(), span.end()};
}

NodeLine node_line(const fb::Method& method, const fb::Node& node, SharedTexts* texts) {
  NodeLine line;
  fb::OpAttrsUnion op;
  op.type = node.op_type();
  op.value = fb::OpAttrsUnion::UnPack(node.op(), node.op_type(), nullptr);
  const Attrs attrs(op);
  line.op = attrs.name();
  line.attributes = attrs.text();
  line.fields = attr_fields(attrs);
  line.inputs = ids_of(node.inputs());
  line.outputs = ids_of(node.outputs());
  if (node.source() >= 0) {
    const fb::Source& source = *method.sources()->Get(static_cast<uint32_t>(node.source()));
    line.aten = texts->take(source.aten());
    line.module_path = texts->take(source.module_path());
    line.source = place_of(source, texts);
  }
  line.flops = flops_of(method, node);
  return line;
}

/// Fills first and last of every value; a value shares the life of what aliases it.
void find_lifetimes(const fb::Method& method, MethodInfo* info) {
  auto& values = info->values;
  const int node_count = static_cast<int>(info->nodes.size());
  for (int n = 0; n < node_count; ++n) {
    const NodeLine& node = info->nodes[static_cast<size_t>(n)];
    for (int id : node.outputs) values[static_cast<size_t>(id)].first = n;
    for (int id : node.outputs) values[static_cast<size_t>(id)].last = n;
    for (int id : node.inputs) {
      if (id >= 0) values[static_cast<size_t>(id)].last = n;
    }
  }
  for (size_t i = 0; i < count_of(method.outputs()); ++i) {
    const fb::Binding& output = *method.outputs()->Get(static_cast<uint32_t>(i));
    values[static_cast<size_t>(output.value())].last = node_count;
  }
  for (size_t i = 0; i < count_of(method.states()); ++i) {
    const fb::State& state = *method.states()->Get(static_cast<uint32_t>(i));
    values[static_cast<size_t>(state.next())].last = node_count;
  }
  for (size_t i = values.size(); i-- > 0;) {
    if (values[i].kind == "Input") values[i].last = node_count;
    if (values[i].alias_of < 0) continue;
    ValueLine& owner = values[static_cast<size_t>(values[i].alias_of)];
    owner.last = std::max(owner.last, values[i].last);
  }
}

void count_constants(MethodInfo* info) {
  std::set<std::pair<uint64_t, uint64_t>> ranges;
  for (const ValueLine& value : info->values) {
    if (value.kind != "Constant" || !ranges.insert({value.offset, value.bytes}).second) continue;
    ++info->constant_count;
    info->constant_bytes += value.bytes;
  }
}

/// Makes a cpu session and notes who runs each node.
void ask_runtime(const Method& method, MethodInfo* info) {
  SessionOptions options;
  options.backend = cpu_backend();
  auto session = Session::create(method, options);
  if (!session.ok()) {
    info->session_error = session.status().message();
    return;
  }
  const SessionStats stats = session->stats();
  info->workspace_bytes = stats.workspace_bytes;
  info->packed_weight_bytes = stats.packed_weight_bytes;
  info->plan_bytes = stats.plan_bytes;
  size_t next = 0;
  for (size_t i = 0; i < session->node_count(); ++i) {
    const NodeInfo node = *session->node(i);
    if (node.variant != 0) break;
    if (node.is_copy) {
      info->copies.push_back({node.op, node.backend, node.value, node.copied_bytes});
      continue;
    }
    info->nodes[next].backend = node.backend;
    info->nodes[next++].reason = node.fallback_reason;
  }
}

/// The extents that may be chosen, and which attributes follow them.
void describe_symbols(const Method& method, const fb::Method& tables, MethodInfo* info) {
  std::vector<std::string> names;
  for (size_t i = 0; i < method.symbol_count(); ++i) {
    const SymbolInfo symbol = method.symbol(i);
    info->symbols.push_back(dim_symbol(symbol));
    names.emplace_back(symbol.name);
  }
  std::vector<fb::Term> terms;
  for (size_t i = 0; i < count_of(tables.terms()); ++i)
    terms.push_back(*tables.terms()->Get(static_cast<uint32_t>(i)));
  const TermList list(std::move(terms));
  for (size_t i = 0; i < count_of(tables.patches()); ++i) {
    const fb::Patch& patch = *tables.patches()->Get(static_cast<uint32_t>(i));
    const fb::Node& node = *tables.nodes()->Get(static_cast<uint32_t>(patch.node()));
    info->nodes[static_cast<size_t>(patch.node())].sizes.push_back(
        patch_text(node.op_type(), patch, list, names));
  }
}

MethodInfo method_info(const Method& method, const fb::Method& tables, SharedTexts* texts) {
  MethodInfo info;
  info.name = method.name();
  for (size_t i = 0; i < method.input_count(); ++i) {
    info.inputs.push_back(input_line(method, i, 0, texts));
  }
  for (size_t i = 0; i < method.output_count(); ++i) {
    info.outputs.push_back(output_line(method, i, 0, texts));
  }
  for (size_t i = 0; i < method.literal_count(); ++i) {
    info.literals.push_back(literal_line(method.literal(i)));
  }
  for (size_t i = 0; i < method.state_count(); ++i)
    info.states.push_back(tensor_line(
        method, method.state(i), [](int) { return ExtentInfo(); }, texts));
  for (size_t v = 0; v < method.variant_count(); ++v)
    info.variants.push_back(variant_line(method, tables, v, texts));
  for (size_t i = 0; i < count_of(tables.values()); ++i) {
    info.values.push_back(value_line(*tables.values()->Get(static_cast<uint32_t>(i))));
  }
  for (size_t i = 0; i < count_of(tables.nodes()); ++i) {
    info.nodes.push_back(node_line(tables, *tables.nodes()->Get(static_cast<uint32_t>(i)), texts));
    ++info.ops[info.nodes.back().op];
    info.flops += info.nodes.back().flops;
  }
  const std::vector<std::string> names = node_names(tables);
  for (size_t i = 0; i < names.size(); ++i) info.nodes[i].name = names[i];
  describe_symbols(method, tables, &info);
  find_lifetimes(tables, &info);
  count_constants(&info);
  info.sample_count = method.sample_count();
  info.arena_bytes = method.arena_bytes();
  info.reserved_bytes = method.reserved_bytes();
  ask_runtime(method, &info);
  return info;
}

void describe_file(const LoadedBundle& bundle, BundleInfo* info) {
  const BundleSections& sections = bundle.sections();
  BundleProlog prolog;
  std::memcpy(&prolog, bundle.bytes().data(), sizeof prolog);
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(prolog.prolog_checksum));
  info->checksum = digits;
  info->format_major = prolog.major;
  info->format_minor = prolog.minor;
  info->bytes = bundle.bytes().size();
  info->metadata_bytes = sections.metadata.size();
  info->constants_bytes = sections.constants.size();
  info->samples_bytes = sections.samples.size();
  info->producer = text_of(sections.bundle->producer());
  for (size_t i = 0; i < count_of(sections.bundle->info()); ++i) {
    const fb::KeyValue& pair = *sections.bundle->info()->Get(static_cast<uint32_t>(i));
    const std::string key = text_of(pair.key());
    if (key == kVerdictKey) {
      info->verdict = text_of(pair.value());
    } else {
      info->info.emplace_back(key, text_of(pair.value()));
    }
  }
}

}  // namespace

std::string TensorLine::type() const {
  std::string text = std::string(dtype_name(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool named = d < symbols.size() && !symbols[d].empty();
    text += (d > 0 ? "," : "") + (named ? symbols[d] : std::to_string(shape[d]));
  }
  return text + "]";
}

std::vector<std::string> node_names(const fb::Method& program) {
  SharedTexts texts;
  std::vector<std::string> names;
  std::map<std::string, size_t> repeats;
  for (uint32_t n = 0; n < count_of(program.nodes()); ++n) {
    const fb::Node& node = *program.nodes()->Get(n);
    TapPoint point;
    point.op = default_ops().find(attrs_of(node))->name;
    std::string module_path;
    if (node.source() >= 0) {
      const auto source = static_cast<uint32_t>(node.source());
      module_path = texts.take(program.sources()->Get(source)->module_path());
    }
    point.module_path = module_path.c_str();
    point.repeat = repeats[module_path + "/" + point.op]++;
    std::string name(tap_name(point, nullptr, 0) + 1, '\0');
    tap_name(point, name.data(), name.size());
    name.pop_back();
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<const NodeLine*> MethodInfo::reference_nodes() const {
  std::vector<const NodeLine*> found;
  for (const NodeLine& node : nodes) {
    if (node.backend == "reference") found.push_back(&node);
  }
  return found;
}

BundleInfo describe_bundle(const LoadedBundle& bundle) {
  BundleInfo info;
  info.path = bundle.path();
  describe_file(bundle, &info);
  const auto& methods = *bundle.sections().bundle->methods();
  SharedTexts texts;
  for (size_t i = 0; i < bundle.program().method_count(); ++i) {
    info.methods.push_back(
        method_info(bundle.program().method(i), *methods.Get(static_cast<uint32_t>(i)), &texts));
  }
  return info;
}

Outcome<Done> verify_bundle(const std::string& path, LoadOptions options) {
  options.check_data = true;
  auto program = Program::open(path.c_str(), default_ops(), options);
  if (!program.ok()) return failure_of(path, program.status());
  return Done{};
}

}  // namespace lazyrt
