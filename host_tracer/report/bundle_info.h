#pragma once

// What a bundle holds and how the cpu backend would run it, read back from the file for people.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/dynamic/shapes.h"
#include "host_tracer/graph/attr_fields.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/support/outcome.h"
#include "lazyrt/dtype.h"
#include "lazyrt/runtime.h"

namespace lazyrt {

struct TensorLine {
  std::string name;
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;  ///< empty, or by dim the name of its extent, "" where fixed

  /// "f32[batch,3]"
  std::string type() const;
};

/// A Python number among the results; `text` is its value.
struct LiteralLine {
  std::string name;
  DType dtype = DType::kNone;
  std::string text;
  size_t position = 0;
};

/// An assumption that a run checks.
struct GuardLine {
  std::string text;    ///< "bool(x.sum() > 0)"
  std::string seen;    ///< "true", "3", "0.731"
  std::string source;  ///< "model.py:12" or empty
  bool check = false;  ///< the model raises where it does not hold
};

/// One of the programs of a method, in the order in which they are tried.
struct VariantLine {
  std::vector<DimSymbol> symbols;  ///< with the bounds of this variant; of one of several only
  std::vector<TensorLine> inputs;
  std::vector<TensorLine> outputs;
  std::vector<GuardLine> guards;
  size_t nodes = 0;
  size_t samples = 0;
};

struct ValueLine {
  std::string name;
  std::string kind;  ///< "Input", "Constant", "Arena", "State"
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  ///< into the arena or the constants
  uint64_t bytes = 0;
  int alias_of = -1;
  int first = -1;  ///< node that makes it; -1: it exists from the start
  int last = -1;   ///< node that reads it last; the node count for outputs
};

struct NodeLine {
  std::string op;
  std::string name;                ///< tap_name of its first result: "features.0/conv2d"
  std::string attributes;          ///< "stride_h=2, groups=32", without defaults
  std::vector<AttrField> fields;   ///< all attributes
  std::vector<std::string> sizes;  ///< "sizes[1] = seq - 1": what of them follows the symbols
  std::vector<int> inputs;         ///< value ids, -1 = absent operand
  std::vector<int> outputs;        ///< value ids
  std::string backend;             ///< who runs it in a session on cpu; empty if unknown
  std::string reason;              ///< why cpu itself does not; empty if it does
  std::string aten;
  std::string module_path;
  std::string source;  ///< "model.py:12" or empty
  uint64_t flops = 0;  ///< of conv, linear, matmul and recurrent ops (2 for a multiply-add), else 0
};

/// A value that a run copies between the host's memory and a device's.
struct CopyLine {
  std::string direction;  ///< "copy_in" to the device, "copy_out" from it
  std::string backend;
  std::string value;
  uint64_t bytes = 0;
};

/// Of several variants nodes, values, costs and literals are the first's.
struct MethodInfo {
  std::string name;
  std::vector<DimSymbol> symbols;  ///< shapes, places and bytes are those of the sample then
  std::vector<TensorLine> inputs;
  std::vector<TensorLine> outputs;
  std::vector<LiteralLine> literals;
  std::vector<TensorLine> states;     ///< live in the session
  std::vector<VariantLine> variants;  ///< one at least
  std::vector<ValueLine> values;
  std::vector<NodeLine> nodes;
  std::map<std::string, int> ops;  ///< how often each op occurs
  size_t sample_count = 0;         ///< of all variants
  uint64_t constant_count = 0;     ///< distinct byte ranges: tied weights count once
  uint64_t constant_bytes = 0;
  uint64_t arena_bytes = 0;
  uint64_t reserved_bytes = 0;       ///< bytes of an arena for any sizes within the bounds
  uint64_t workspace_bytes = 0;      ///< of a cpu session of one thread
  uint64_t packed_weight_bytes = 0;  ///< of a cpu session
  uint64_t plan_bytes = 0;       ///< tables that its runs keep of the metadata, over all variants
  std::vector<CopyLine> copies;  ///< of a run of it
  uint64_t flops = 0;
  std::string session_error;  ///< why cpu cannot run it; then backend of the nodes is unknown

  /// Nodes that cpu gives to a reference kernel.
  std::vector<const NodeLine*> reference_nodes() const;
};

struct BundleInfo {
  std::string path;
  std::string producer;
  uint32_t format_major = 0;
  uint32_t format_minor = 0;
  uint64_t bytes = 0;
  uint64_t metadata_bytes = 0;
  uint64_t constants_bytes = 0;
  uint64_t samples_bytes = 0;
  std::string verdict;  ///< "SOUND", ... as the file says; empty: it does not
  /// Checksum of the prolog, which covers the other checksums; 16 hex digits.
  std::string checksum;
  std::vector<std::pair<std::string, std::string>> info;  ///< but for the verdict
  std::vector<MethodInfo> methods;
};

/// tap_name of each node's first result, of one program of a method.
std::vector<std::string> node_names(const fb::Method& program);

/// Asks the runtime how it would run the bundle, too.
BundleInfo describe_bundle(const LoadedBundle& bundle);

/// Opens and verifies the bundle within the limits of `options`, the checksum of its data included.
Outcome<Done> verify_bundle(const std::string& path, LoadOptions options = {});

}  // namespace lazyrt
