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
  kBuffer,     ///< registered buffer that the program only reads
  kState,      ///< registered buffer that the program writes: see TraceState
  kConstant,   ///< lifted or inline tensor constant
};

/// Whether both hold the same; what is not there equals nothing that is.
bool same_bytes(const ConstantData& a, const ConstantData& b);

struct TraceValue {
  std::string name;  ///< input name, parameter's full name; may be empty for node results
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  LeafKind leaf = LeafKind::kNotLeaf;
  ConstantData constant;  ///< parameters, buffers, constants; of a state the first run's content
  /// A Python number as an operand ("x * 2.0"): a 0-dim constant of f64, i64 or bool that takes
  /// part in type promotion only by its category. The node's result dtype is already the promoted
  /// one.
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

/// A number that the trace has seen: the result of a sync, or a number that the model returned.
using SeenNumber = std::variant<bool, int64_t, double>;

struct TraceOutput {
  std::string name;
  TraceValueId value = kNoTraceValue;
  /// A Python number that the model returns; then value is kNoTraceValue.
  std::optional<SeenNumber> literal;
};

/// An assumption of the trace: the 0-dim `value` has to be `seen` again, or this trace is not the
/// program's. Values that depend on constants alone need none.
struct TraceGuard {
  TraceValueId value = kNoTraceValue;
  SeenNumber seen;
  std::string text;  ///< for people: "bool(x.sum() > 0)", "count of true elements of a mask"
  Source source;
  /// Eager raises where it does not hold: the trace is right wherever the program gives a result.
  bool check = false;
};

/// A buffer that the program writes: `leaf` (LeafKind::kState) is read at the beginning of a run,
/// and gets the value `next` at its end. Both have one dtype and shape.
struct TraceState {
  TraceValueId leaf = kNoTraceValue;
  TraceValueId next = kNoTraceValue;
};

/// A parameter or buffer whose values were read on the host without a guard: no trace so far writes
/// it.
struct AskedConstant {
  std::string name;
  Source source;
};

/// What became of a value that was read on the host.
enum class SyncUse : uint8_t {
  kNote,   ///< for people: printed, logged
  kGuard,  ///< there is a guard on exactly what left
  kCheck,  ///< there is a guard, and eager raises where it does not hold
  kBaked,  ///< without a guard: the program is right for this value only
};

/// A value that was read on the host, in the order of the trace.
struct TraceSync {
  std::string what;  ///< "item", "bool", "nonzero", "equal", "to cpu"
  std::string seen;  ///< the value as text, shortened: "0.731", "true", "f32[3,4]"
  SyncUse use = SyncUse::kGuard;
  Source source;
};

enum class Severity : uint8_t {
  kNote,     ///< good to know
  kWarning,  ///< the bundle is right for some inputs only, or leaves out a side effect
  kError,    ///< the bundle would be wrong
};

/// Something that the user has to know about a trace.
struct Finding {
  Severity severity = Severity::kNote;
  std::string id;          ///< one of finding_ids.h; host_tracer/VERDICTS.md explains it
  std::string message;     ///< one sentence that names the culprit
  std::string suggestion;  ///< what to edit, or empty
  Source source;
  bool allowed = false;  ///< an error that the caller let through: see allow.h
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

struct EagerReference;  // eager_reference.h

/// A finished capture. Values are in order of definition, nodes in order of execution.
struct Trace {
  std::vector<TraceValue> values;
  std::vector<TraceNode> nodes;
  std::vector<TraceValueId> inputs;  ///< user inputs in order
  std::vector<TraceOutput> outputs;  ///< in order; may repeat a value, an input or a constant
  std::vector<SampleTensor> sample_inputs;   ///< one per input, or empty
  std::vector<SampleTensor> sample_outputs;  ///< eager ATen's on the CPU, one per output, or empty
  std::vector<TraceGuard> guards;            ///< in order of the trace
  std::vector<TraceState> states;
  std::vector<TraceSync> syncs;
  std::vector<AskedConstant> asked;  ///< each once
  /// What the program sets without the trace having a state for it.
  std::vector<std::string> only_set;
  /// States that the program makes the same tensor, and states into whose tensor it writes: no
  /// state may be in both lists, neither in one trace nor in two of one program.
  std::vector<std::string> made_one, written_in_place;
  /// Attributes, and tensors in them, that the program sets, to whatever, and all that were one
  /// tensor with them before; attributes that it reads as an earlier call, or the file, has left.
  std::vector<std::string> set_names, read_names;
  /// Attributes whose tensors have another layout in memory afterwards, and whether that may matter
  /// to the program.
  std::vector<std::string> relaid;
  bool layouts_matter = false;
  std::vector<Finding> findings;
  DType default_real = DType::kFloat32;  ///< of Python's floats beside whole tensors
  bool takes_gradients = false;          ///< the program runs with autograd on, in eager too
  ShapeStats shapes;
  bool suspected = false;  ///< at its sizes the check suspected that the program is another one
  std::vector<std::string> notes;  ///< what was assumed or dropped, for the report
  std::string producer;            ///< e.g. "torch.export 2.13.0"
  /// The program, for the check after export; null: the trace stands for it.
  std::shared_ptr<const EagerReference> eager;

  /// Readable text, one line a node: `%12: f32[1,384] = aten::add.Tensor(%3, %4, alpha=1)  # src`.
  std::string text() const;
};

/// The hidden state that says which of a program's phases comes next, and the phase of this trace;
/// empty for a program without phases.
constexpr const char* kPhaseState = "lazyrt.phase";
std::optional<int64_t> phase_of(const Trace& trace);

/// What a reader may rely on, the best first; host_tracer/VERDICTS.md has the words in full.
enum class Verdict : uint8_t {
  kSound,        ///< right for every input of these shapes and dtypes
  kSpecialized,  ///< right where its guards hold, or with a warning
  kAllowed,      ///< what fails an export was let through by `allow`
  kBroken,       ///< wrong for inputs other than the sample
};

/// The bundle's info entry that holds the verdict, of several traces the worst.
constexpr char kVerdictKey[] = "lazyrt.verdict";

/// kBroken with an error among the findings, kAllowed with an allowed one; kSpecialized with a
/// guard that is not a check, or a warning.
Verdict verdict_of(const Trace& trace);
/// "note", "warning", "error".
const char* severity_name(Severity severity);
/// "note", "guard", "check", "baked".
const char* sync_use_name(SyncUse use);
/// The worst of the traces'. REQUIRES: !traces.empty().
Verdict verdict_of(const std::vector<Trace>& traces);
/// "SOUND", "SPECIALIZED", "ALLOWED", "BROKEN".
const char* verdict_name(Verdict verdict);

}  // namespace lazyrt
