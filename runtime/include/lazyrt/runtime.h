#pragma once

// LazyRT's C++ API. Load a Program, take a Method, make a Session, set inputs, run, read outputs:
//
//   auto program = lazyrt::Program::open("m.lzb", lazyrt::default_ops());
//   auto method = program->method("forward");
//   auto session = lazyrt::Session::create(*method, {lazyrt::cpu_backend(), /*threads=*/2});
//   session->set_input(0, data, bytes);
//   session->run();
//   lazyrt::TensorView y = *session->output(0);
//
// Nothing here throws, prints or aborts. Every call that can fail returns a Status or Result.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lazyrt/dtype.h"
#include "lazyrt/error.h"
#include "lazyrt/shape.h"
#include "lazyrt/span.h"
#include "lazyrt/tensor_view.h"
#include "lazyrt/watch.h"

namespace lazyrt {

struct OpTable;
struct Backend;

/// All operators of this build. The table is constant data.
const OpTable& default_ops();
/// XNNPACK and our own kernels, falling back to the reference kernel of an op that has no other.
const Backend* cpu_backend();
/// The readable reference kernels only, one thread.
const Backend* reference_backend();

/// The memory limit that 0 means: 4 GiB. A session may take, in addition, as much as the packed
/// weights may take, at least 64 MiB. The mapped file itself does not count.
constexpr uint64_t kDefaultMemoryLimit = uint64_t{4} << 30;

/// The work limits that 0 means. A step is about one multiply-add or one element moved: a core does
/// some 2^35 multiply-adds a second, and some 2^26 in the slowest reference kernels.
constexpr uint64_t kDefaultNodeWorkLimit = uint64_t{1} << 40;
constexpr uint64_t kDefaultWorkLimit = uint64_t{1} << 43;

/// Where memory comes from. The default is aligned_alloc / free. A Program calls its hooks from one
/// thread at a time, whichever threads make sessions of it, and so does a Session. If several of
/// them share hooks, several threads may call these at once.
struct AllocatorHooks {
  void* context = nullptr;
  void* (*allocate)(void* context, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* context, void* pointer) = nullptr;
};

struct LoadOptions {
  /// Most bytes that the arena and the states of any method of the bundle may take; 0 = 4 GiB.
  /// Checking the bundle takes no more than this either, or than 16 MiB if that is more.
  uint64_t memory_limit = 0;
  /// Also checks the checksum of constants and samples (reads the whole file).
  bool check_data = false;
  /// Most steps that one run of a method may take, all its variants together; 0 = 2^43.
  uint64_t work_limit = 0;
  /// Most steps of one node, and the largest product of an empty tensor's other extents; 0 = 2^40.
  /// A run can be cancelled between nodes (on a device: between its submissions), but not within
  /// one.
  uint64_t node_work_limit = 0;
  /// Allocates for the Program and for what its sessions share: packed weights, at most 64 MiB + 4
  /// times its constants, and up to 256 texts of fallback reasons. Each thread that makes a session
  /// may call it, but only one at a time. Must outlive the Program.
  AllocatorHooks allocator;
};

/// Interface of one input, output or state.
struct TensorInfo {
  const char* name = "";
  DType dtype = DType::kNone;
  Shape shape;
};

/// A named extent of inputs that the caller chooses: min <= it <= max, a multiple of `multiple`.
struct SymbolInfo {
  const char* name = "";
  int64_t min = 1;
  int64_t max = 1;
  int64_t multiple = 1;
};

/// An extent of an input: factor * the symbol's value + offset. Without a symbol it is fixed.
struct ExtentInfo {
  int symbol = -1;
  int64_t factor = 1;  ///< >= 1
  int64_t offset = 0;
};

/// A Python number among a method's results: `position` is its place among all results.
struct LiteralInfo {
  const char* name = "";
  size_t position = 0;
  DType dtype = DType::kNone;
  int64_t integer = 0;
  double real = 0;
};

/// What a method assumes of its inputs: that a number which its nodes compute equals the number
/// that was seen at export.
struct GuardInfo {
  const char* text = "";  ///< "bool(x.sum() > 0)"
  const char* file = "";  ///< the user's
  int line = 0;
  /// kBool: only whether the number is 0 is compared, and `integer` is 0 or 1. kInt64: `integer`.
  /// kFloat64: `real`, within `tolerance`.
  DType dtype = DType::kNone;
  int64_t integer = 0;
  double real = 0;
  double tolerance = 0;
  bool check = false;  ///< the model itself raises if it does not hold
};

/// How far an output may be from a sample's: |x - y| <= absolute + relative * max|y|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// A note of the exporter. Keys may repeat.
struct InfoEntry {
  const char* key = "";
  const char* value = "";
};

class ProgramState;
class SessionState;

/// One entry point of a Program. A handle: copy freely, valid while the Program lives.
///
/// A method holds one or more variants, which are programs with the same interface. They differ in
/// the shapes of inputs and outputs (if the method has symbols: in the bounds of these instead of
/// the shapes of inputs), in the values of literals and in what they assume. A run takes the first
/// variant that fits. REQUIRES everywhere: variant < variant_count().
class Method {
 public:
  const char* name() const;
  /// 1 for most methods.
  size_t variant_count() const;
  size_t input_count() const;
  size_t output_count() const;
  /// If the method has symbols, the shape is the one at which the variant was exported. REQUIRES: i
  /// < input_count() or output_count(), respectively.
  TensorInfo input(size_t i, size_t variant = 0) const;
  TensorInfo output(size_t i, size_t variant = 0) const;
  /// Returns the index of that name, or kNotFound with the names that exist.
  Result<size_t> find_input(std::string_view name) const;
  Result<size_t> find_output(std::string_view name) const;

  /// Number of named extents of the inputs, which the caller chooses. 0 for most methods: all
  /// shapes are fixed.
  size_t symbol_count() const;
  /// With bounds from the smallest to the largest size that any variant takes. REQUIRES: i <
  /// symbol_count().
  SymbolInfo symbol(size_t i) const;
  /// With the bounds of this variant: a run takes it only at sizes within them. REQUIRES: as above.
  SymbolInfo variant_symbol(size_t i, size_t variant) const;
  /// For a dim of an input: the symbol that it follows from (input_extent says how), or -1 if it is
  /// fixed. For a dim of an output: the symbol that it equals, or -1 if it is fixed or another
  /// function of the symbols. REQUIRES: input < input_count() or output < output_count(),
  /// respectively.
  int input_symbol(size_t input, int dim) const;
  ExtentInfo input_extent(size_t input, int dim) const;
  int output_symbol(size_t output, int dim, size_t variant = 0) const;

  size_t literal_count() const;
  LiteralInfo literal(size_t i, size_t variant = 0) const;

  /// Guards that a run of this variant checks.
  size_t guard_count(size_t variant = 0) const;
  /// REQUIRES: i < guard_count(variant).
  GuardInfo guard(size_t i, size_t variant = 0) const;

  /// Tensors that a session keeps from run to run.
  size_t state_count() const;
  /// REQUIRES: i < state_count().
  TensorInfo state(size_t i) const;
  Result<size_t> find_state(std::string_view name) const;

  /// Sample inputs, and the outputs that eager ATen gave for them, in place in the bundle: those of
  /// all variants, one after the other. A sample is a first run: its states are those of a new
  /// session.
  size_t sample_count() const;
  /// The variant that the sample was traced with.
  size_t sample_variant(size_t sample) const;
  TensorView sample_input(size_t sample, size_t i) const;
  TensorView sample_output(size_t sample, size_t i) const;
  /// The exporter's tolerance for this sample; both 0 if it set none.
  Tolerance sample_tolerance(size_t sample) const;

  /// Bytes of the arena as planned at export; with several variants, the most that any of them
  /// needs.
  uint64_t arena_bytes() const;
  /// Bytes of an arena with room for each value at its own largest size, as the exporter found it;
  /// without symbols the same as arena_bytes().
  uint64_t reserved_bytes() const;

 private:
  friend class Program;
  friend class Session;
  const ProgramState* program_ = nullptr;
  size_t index_ = 0;
};

/// A loaded, verified bundle. Immutable; may be shared by sessions on any threads. Must outlive
/// them.
class Program {
 public:
  /// Maps the file. `ops` must outlive the Program.
  static Result<Program> open(const char* path, const OpTable& ops,
                              const LoadOptions& options = {});
  /// Uses the caller's bytes in place: 64-byte aligned, alive and unchanged as long as the Program.
  static Result<Program> load(Span<const uint8_t> bytes, const OpTable& ops,
                              const LoadOptions& options = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  size_t method_count() const;
  /// REQUIRES: i < method_count().
  Method method(size_t i) const;
  /// kNotFound names the methods there are.
  Result<Method> method(std::string_view name) const;
  /// Size of the whole bundle in bytes.
  uint64_t bytes() const;
  /// Checksum of the bundle as its file gives it, weights and samples included. Anything that was
  /// kept under another checksum belongs to another bundle.
  uint64_t checksum() const;
  /// Notes of the exporter besides the program: versions, options, structure of the interface.
  size_t info_count() const;
  /// REQUIRES: i < info_count().
  InfoEntry info(size_t i) const;

 private:
  Program() = default;
  ProgramState* state_ = nullptr;
};

struct SessionOptions {
  const Backend* backend = nullptr;  ///< required: cpu_backend() or reference_backend()
  int threads = 1;                   ///< 1..256; includes the calling thread
  /// Most bytes that the session may take: arena, workspace, states, its plan (at most 8 KiB per
  /// node, 256 bytes per value, 128 per operand, and for tables of a node 1 MiB + 16 times its
  /// operands and results), what XNNPACK allocates for it, and all packed weights of the Program. 0
  /// = 4 GiB, plus as much as the packed weights may take, at least 64 MiB.
  uint64_t memory_limit = 0;
  AllocatorHooks allocator;
  /// If the method has symbols: takes the memory for all sizes within their bounds now, so that
  /// other sizes are bound without asking the allocator; SessionStats::beyond_reserve counts how
  /// often it was asked all the same. Creation binds the smallest sizes, and the largest ones three
  /// times. The memory of devices and the Program's own are not reserved: XNNPACK packs the filters
  /// of depthwise and transposed convolutions before it finds that they are packed already.
  bool reserve = false;
  bool profile = false;  ///< measures each node: NodeInfo::nanoseconds
  /// Receives the steps and values of each run while it goes on; must outlive the session. nullptr
  /// costs nothing.
  const Watch* watch = nullptr;
  /// A run (including its binding of shapes) or bind_shapes ends with kDeadlineExceeded before the
  /// first node that would begin after this many nanoseconds (on a device: before the first such
  /// submission); 0 = never. kUnsupported if the platform has no clock.
  uint64_t deadline_nanoseconds = 0;
};

/// Memory of a session in bytes, and counts of what its runs did.
struct SessionStats {
  uint64_t arena_bytes = 0;  ///< with several variants, including the block that keeps the inputs
  uint64_t workspace_bytes = 0;
  uint64_t packed_weight_bytes = 0;  ///< over all variants; weights that they share count for each
  uint64_t state_bytes = 0;
  uint64_t device_bytes = 0;  ///< in the memories of devices, without constants
  /// Bytes that the last run copied into bound outputs because no node could write there directly.
  uint64_t output_copy_bytes = 0;
  uint64_t plan_bytes = 0;  ///< tables made from the bundle's metadata, over all variants
  /// How often a guard turned a run away from its variant: guard_refusals() says which.
  uint64_t guard_refusals = 0;
  /// With SessionOptions::reserve: how often the allocator was asked since the session was made,
  /// without the Program's requests for packed weights.
  uint64_t beyond_reserve = 0;
  uint64_t total_bytes = 0;  ///< all that counts against SessionOptions::memory_limit
};

/// How one node is run, or a copy of a value to ("copy_in") or from ("copy_out") the memory of its
/// backend's device. All texts live as long as the Program.
struct NodeInfo {
  const char* op = "";       ///< op name, "copy_in" or "copy_out"
  const char* backend = "";  ///< name of the backend that runs it
  /// Why the session's own backend does not run it; empty if it does. A Program keeps 256 different
  /// reasons; instead of further ones a text says that there are too many.
  const char* fallback_reason = "";
  const char* aten = "";  ///< ATen operator it stems from
  const char* module_path = "";
  const char* file = "";
  int line = 0;
  /// Time spent in the node over `runs` runs; only with SessionOptions::profile. If a device runs
  /// several nodes as one segment, each has the time that the device measured for it; if the device
  /// measures only whole segments, the first node has the time of all.
  uint64_t nanoseconds = 0;
  uint64_t runs = 0;
  size_t variant = 0;  ///< the node is of this variant
  bool is_copy = false;
  const char* value = "";     ///< of a copy: the value's name
  uint64_t copied_bytes = 0;  ///< of a copy
};

/// A method made ready to run. Used by one thread at a time: a call made while another thread is
/// inside returns kBusy and changes nothing.
class Session {
 public:
  static Result<Session> create(const Method& method, const SessionOptions& options);

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // If the method has symbols (Method::symbol), an input may have any shape within their bounds.
  // The next run, or bind_shapes, binds the session to the shapes that are set then, if these
  // differ from the last ones: it plans the memory, and checks and prepares the kernels. That takes
  // about as long as Session::create without its packing of weights, and for that moment the memory
  // of both. Inputs whose shape stays the same keep their content; states, threads and packed
  // weights stay. If the session cannot be bound, it stays as it was: kInvalidArgument names inputs
  // that disagree, kOutOfMemory the limit, kInvalidBundle and kUnsupported the node that does not
  // work at these sizes, and kFailedPrecondition an input that is bound to an output of the
  // session, which would move. A run with the shapes of the last one allocates nothing.

  /// Copies row-major data into the session. `bytes` must be the input's exact size. If variants
  /// differ or the method has symbols, the size also has to determine the shape: it is the shape
  /// that the input has, or else the only dim that is a symbol follows from the size; otherwise set
  /// the input as a tensor.
  Status set_input(size_t i, const void* data, size_t bytes);
  /// As set_input above, and checks dtype and shape against the method's (those of one of its
  /// variants, or what its symbols allow). kInvalidArgument names the input, and the dim with its
  /// symbol and bounds.
  Status set_input(size_t i, const TensorView& tensor);
  /// Uses the caller's memory in each run, without a copy, until the input is bound or set again.
  /// Nobody may change the memory during a run: a value that was checked there, such as an index,
  /// is read again. `readable` bytes must be readable from data. If data is not aligned to
  /// kAlignment, or `readable` is less than the input's bytes + kTailBytes, each run copies
  /// instead. A run also copies if the memory is this session's own, an output, a state or a part
  /// of one: it then begins with what the last run left there, in all such inputs at once.
  /// kOutOfMemory: there is no memory for that copy.
  Status bind_input(size_t i, const TensorView& tensor, size_t readable);

  /// Makes each run write output i into the caller's memory, `writable` bytes at `data`, until it
  /// is bound again; nullptr: into the session's own memory. The node that makes the output writes
  /// there without a copy if data is aligned to kAlignment, at least kTailBytes follow the output
  /// (these may be overwritten), and the result belongs to a node alone: it is not an input, a
  /// constant or a part of one, and does not share its memory with another bound output. Otherwise
  /// the run ends with a copy (SessionStats::output_copy_bytes). `device`: nullptr, or a backend of
  /// this session whose device's memory it is; then output(i) returns an address there, and what is
  /// made there is not copied to the host. A bound input may share that memory: each run reads it
  /// first. After a failed run the memory may hold anything. kInvalidArgument names the output: it
  /// has more than `writable` bytes (if the method has symbols, run says so before anything is
  /// written), the memory is the session's or another bound output's, a device's address is not
  /// aligned to kAlignment, or there is no such device.
  Status bind_output(size_t i, void* data, size_t writable, const Backend* device = nullptr);

  /// Binds the session to these shapes, one for each input in order, ahead of a run. Inputs whose
  /// shape changes must be set again, unless they were already set with that shape; outputs of the
  /// last run are lost if any shape changes. Errors are those above, kCancelled and
  /// kDeadlineExceeded; after them the session is bound as it was. If the method has no symbols,
  /// the shapes are only checked.
  Status bind_shapes(Span<const Shape> inputs);

  /// Runs the method. kFailedPrecondition names an input that was never set; kOutOfRange an index
  /// operand with a bad value, and its node; kGuardFailed, for each variant, a guard that these
  /// inputs break, with its source line; kCancelled and kDeadlineExceeded: see below. After an
  /// error there is no result, and states are what they were before the run. Allocates no heap
  /// memory, unless inputs have other shapes than in the last run.
  Status run();
  /// Ends another thread's run or bind_shapes with kCancelled, before the next node that would be
  /// run or bound (on a device: before its next submission). Does nothing if there is none. May be
  /// called from any thread as long as the session is not moved or destroyed.
  void cancel();

  /// The result of the last run, in the session's memory or where the output was bound; valid until
  /// the next run. Its shape is that of the variant that ran.
  Result<TensorView> output(size_t i) const;
  /// The variant that gave the result of the last run.
  Result<size_t> variant() const;

  /// Gives every state its first content again. Results of the last run stay.
  Status reset_state();
  /// What a state holds now, in the session's memory; valid until the next run, reset_state or
  /// set_state. A state that lives in a device's memory is copied from there.
  Result<TensorView> state(size_t i) const;
  /// Sets what the next run reads. kInvalidArgument names the state and what it takes.
  Status set_state(size_t i, const TensorView& tensor);

  /// These may be called while another thread runs: they neither wait for a run nor delay it.
  /// Counts continue when shapes change, as long as the variant stays.
  SessionStats stats() const;
  /// Number of nodes, and of copies between the memories of the host and of devices, in the order
  /// of execution: those of all variants that take the bound shapes, one after the other. It may
  /// differ at other shapes.
  size_t node_count() const;
  /// Returns one of them. kInvalidArgument: there is no node i at the shapes that are bound now.
  /// kBusy: another thread is inside, so that shapes and times are not settled.
  Result<NodeInfo> node(size_t i) const;
  /// How often this guard (Method::guard) turned a run away from its variant; the run may then have
  /// taken another variant. 0 if there is no such guard.
  uint64_t guard_refusals(size_t guard, size_t variant = 0) const;

 private:
  Session() = default;
  SessionState* state_ = nullptr;
};

}  // namespace lazyrt
