#include "platforms/posix/lazy_run/fallbacks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "lazyrt/dtype.h"
#include "lazyrt/op_uses.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "platforms/posix/lazy_run/mapping.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

/// The nodes that have these in common.
struct Fallback {
  std::string op;       ///< "top_k", "binary.FloorDivide"
  std::string types;    ///< of operands and results: "f32 i64"
  std::string backend;  ///< which runs them
  std::string reason;
  size_t bundles = 0;
  size_t nodes = 0;
};

using Key = std::tuple<std::string, std::string, std::string, std::string>;
using Counts = std::map<Key, size_t>;  ///< nodes of one bundle

/// What each node is, by method, variant and number.
using Place = std::tuple<std::string, size_t, size_t>;
struct NodeKind {
  std::string op;
  std::string types;
};
using NodeKinds = std::map<Place, NodeKind>;

std::string types_text(uint32_t types) {
  std::string text;
  for (int type = 1; type < kDTypeCount; ++type) {
    if ((types >> type & 1) == 0) continue;
    text += std::string(text.empty() ? "" : " ") + dtype_name(static_cast<DType>(type));
  }
  return text;
}

void add_kind(void* context, const OpUse& use) {
  const std::string function = use.function[0] == '\0' ? "" : std::string(".") + use.function;
  (*static_cast<NodeKinds*>(context))[{use.method, use.variant, use.node}] = {
      use.op + function, types_text(use.types)};
}

NodeKinds node_kinds(const std::string& bundle, const OpTable& ops) {
  const Mapping mapping(bundle);
  NodeKinds kinds;
  require(list_op_uses(mapping.bytes(), ops, add_kind, &kinds), bundle);
  return kinds;
}

/// Adds a method's fallbacks to *counts. Returns the number of its nodes.
size_t count_in_method(const Method& method, const NodeKinds& kinds, const Options& options,
                       const Backend* backend, Counts* counts) {
  SessionOptions wanted;
  wanted.backend = backend;
  wanted.threads = options.threads;
  wanted.memory_limit = options.memory_limit;
  const Result<Session> session = Session::create(method, wanted);
  require(session.status(), method.name());
  std::map<size_t, size_t> next;  // by variant, the number of its next node
  size_t nodes = 0;
  for (size_t i = 0; i < session->node_count(); ++i) {
    const Result<NodeInfo> node = session->node(i);
    require(node.status());
    if (node->is_copy) continue;
    const size_t number = next[node->variant]++;
    ++nodes;
    if (node->fallback_reason[0] == '\0') continue;
    const NodeKind& kind = kinds.at({method.name(), node->variant, number});
    ++(*counts)[{kind.op, kind.types, node->backend, node->fallback_reason}];
  }
  return nodes;
}

/// Most frequent first.
std::vector<Fallback> sorted(const std::map<Key, Fallback>& found) {
  std::vector<Fallback> list;
  for (const auto& entry : found) list.push_back(entry.second);
  std::stable_sort(list.begin(), list.end(), [](const Fallback& a, const Fallback& b) {
    return std::tie(a.bundles, a.nodes) > std::tie(b.bundles, b.nodes);
  });
  return list;
}

void print_text(const std::vector<Fallback>& list, std::FILE* out) {
  if (!list.empty()) {
    std::fprintf(out, "bundles  nodes  %-22s %-14s %-10s why\n", "op", "types", "runs on");
  }
  for (const Fallback& f : list) {
    std::fprintf(out, "%7zu %6zu  %-22s %-14s %-10s %s\n", f.bundles, f.nodes,
                 printable(f.op).c_str(), f.types.c_str(), f.backend.c_str(),
                 printable(f.reason).c_str());
  }
}

void print_json(const std::vector<Fallback>& list, size_t bundles, size_t nodes, std::FILE* out) {
  JsonStream json(out);
  json.begin_object();
  json.members({{"bundles", bundles}, {"nodes", nodes}});
  json.key("fallbacks");
  json.begin_list();
  for (const Fallback& f : list) {
    json.value({{"op", f.op},
                {"types", f.types},
                {"backend", f.backend},
                {"reason", f.reason},
                {"bundles", f.bundles},
                {"nodes", f.nodes}});
  }
  json.end_list();
  json.end_object();
  std::fputc('\n', out);
}

}  // namespace

void list_fallbacks(const Options& options, const OpTable& ops, const Backend* backend,
                    const std::function<Program(const std::string&)>& open, std::FILE* out) {
  std::map<Key, Fallback> found;
  size_t nodes = 0, fallen = 0;
  for (const std::string& bundle : options.bundles) {
    const NodeKinds kinds = node_kinds(bundle, ops);
    const Program program = open(bundle);
    Counts counts;
    for (size_t i = 0; i < program.method_count(); ++i) {
      nodes += count_in_method(program.method(i), kinds, options, backend, &counts);
    }
    for (const auto& [key, count] : counts) {
      Fallback& f = found[key];
      std::tie(f.op, f.types, f.backend, f.reason) = key;
      ++f.bundles;
      f.nodes += count;
      fallen += count;
    }
  }
  const std::vector<Fallback> list = sorted(found);
  if (options.json) return print_json(list, options.bundles.size(), nodes, out);
  print_text(list, out);
  std::fprintf(out, "%zu of %zu nodes in %zu bundle%s run on another backend than %s\n", fallen,
               nodes, options.bundles.size(), options.bundles.size() == 1 ? "" : "s",
               options.backend.c_str());
}

}  // namespace lazyrt::run
