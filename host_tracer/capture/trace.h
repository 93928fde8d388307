#pragma once

// The captured program: a graph of ATen nodes, free of LibTorch types, so that the rules of aten/
// and their tests compile without it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lazyrt/dtype.h"

namespace lazyrt {

/// Where a node came from, as well as the front end knows it.
struct Source {
  std::string module_path;  ///< e.g. "encoder.layer.0.attention"; empty for the root
  std::string file;         ///< the user's file, or empty
  int line = 0;             ///< 1-based; 0 when unknown
  std::string aten;         ///< "aten::convolution" of the ATen call it stems from

  /// "encoder.layer.0 (model.py:12)" or as much of it as is known.
  std::string text() const;
};

/// Bytes of a constant, row-major contiguous. `owner` keeps `data` alive; copies share the bytes.
struct ConstantData {
  std::shared_ptr<const void> owner;
  const uint8_t* data = nullptr;
  size_t bytes = 0;
};

using TraceValueId = int32_t;
constexpr TraceValueId kNoTraceValue = -1;

/// What a value without a producer is.
enum class LeafKind : uint8_t {
  kNotLeaf,    ///< made by a node
  kInput,      ///< user input of the method
  kParameter,  ///< nn.Parameter
  kBuffer,     ///< registered buffer
  kConstant,   ///< lifted or inline tensor constant
};

struct TraceValue {
  std::string name;  ///< input name, parameter's full name; may be empty for node results
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  LeafKind leaf = LeafKind::kNotLeaf;
  ConstantData constant;  ///< parameters, buffers, constants
  /// A Python number as an operand ("x * 2.0"): a 0-dim constant of f64, i64 or bool that takes no
  /// part in type promotion beyond its category. The node's result dtype already says what came
  /// out.
  bool wrapped_number = false;
  int32_t producer = -1;  ///< index into Trace::nodes
};

/// A tensor operand inside an attribute list; kNoTraceValue is an undefined optional tensor.
struct TensorArg {
  TraceValueId value = kNoTraceValue;
  bool operator==(const TensorArg&) const = default;
};

/// One argument of an ATen call, by the operator's schema. monostate is None.
using TraceArg = std::variant<std::monostate, bool, int64_t, double, std::string, DType, TensorArg,
                              std::vector<bool>, std::vector<int64_t>, std::vector<double>,
                              std::vector<TensorArg>>;

struct TraceNode {
  std::string op;        ///< "aten::convolution"
  std::string overload;  ///< "Tensor", or empty for the default overload
  std::vector<std::pair<std::string, TraceArg>> args;  ///< (schema name, value), all of them
  std::vector<TraceValueId> outputs;  ///< flattened: a Tensor[] result contributes each element
  Source source;

  /// "aten::add.Tensor"
  std::string full_name() const { return overload.empty() ? op : op + "." + overload; }
  /// The argument of that schema name, or nullptr.
  const TraceArg* find(const std::string& name) const;
};

struct TraceOutput {
  std::string name;
  TraceValueId value = kNoTraceValue;
  /// A Python number that the model returns; then value is kNoTraceValue.
  std::optional<std::variant<bool, int64_t, double>> literal;
};

/// How each node's result shape was found while tracing.
struct ShapeStats {
  int64_t meta = 0;  ///< the operator ran on meta tensors
  int64_t rule = 0;  ///< compute_shape_* of LibTorch or a rule of ours
  int64_t cpu = 0;   ///< the operator ran on the CPU (small data only)
};

/// A sample tensor: dtype, shape and row-major bytes.
struct SampleTensor {
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  ConstantData data;
};

/// A finished capture. Values are in order of definition, nodes in order of execution.
struct Trace {
  std::vector<TraceValue> values;
  std::vector<TraceNode> nodes;
  std::vector<TraceValueId> inputs;  ///< user inputs in order
  std::vector<TraceOutput> outputs;  ///< in order; may repeat a value, an input or a constant
  std::vector<SampleTensor> sample_inputs;   ///< one per input, or empty
  std::vector<SampleTensor> sample_outputs;  ///< eager ATen's on the CPU, one per output, or empty
  ShapeStats shapes;
  std::vector<std::string> notes;  ///< what was assumed or dropped, for the report
  std::string producer;            ///< e.g. "torch.export 2.13.0"

  /// Readable text, one line a node: `%12: f32[1,384] = aten::add.Tensor(%3, %4, alpha=1)  # src`.
  std::string text() const;
};

}  // namespace lazyrt
