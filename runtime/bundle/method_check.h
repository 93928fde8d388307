#pragma once

// What the rules of the verifier share while they check one method. Internal to runtime/bundle.

#include "lazyrt/runtime.h"
#include "runtime/bundle/reader.h"
#include "runtime/core/pool.h"
#include "runtime/core/profile.h"
#include "runtime/core/run_stop.h"

namespace lazyrt {

Fault no_memory_to_check();  // verifier.cpp

/// LoadOptions::memory_limit with its default.
inline uint64_t memory_limit_of(uint64_t limit) { return limit == 0 ? kDefaultMemoryLimit : limit; }

/// Adds up the work that a run of one method may do, all variants included, and compares it with
/// the limits.
class WorkMeter {
 public:
  explicit WorkMeter(const LoadOptions& options);

  void begin_method() { used_ = Work(); }
  /// kLimitExceeded names the limit and the option that raises it.
  Fault add_node(Work work);
  Fault check_volume(Work volume) const;

 private:
  uint64_t limit_;
  uint64_t node_limit_;
  Work used_;
};

/// What is known of a value once its table was checked. Times are node indices.
struct ValueFacts {
  static constexpr int32_t kNotMade = -2;
  static constexpr int32_t kBeforeRun = -1;

  TensorSpec spec;
  fb::ValueKind kind = fb::ValueKind::Arena;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  int32_t alias_of = -1;
  int32_t made_at = kNotMade;   ///< the node that makes it; kBeforeRun: input, constant, state
  int32_t last_use = kNotMade;  ///< the last node that reads it; node count: lives to the end
  bool bound = false;           ///< a State: one of the method's states
};

/// What a check of a method is for.
enum class CheckMode : uint8_t {
  kFile,    ///< all rules, of a method as it is in its file
  kDerive,  ///< extents and sizes of what nodes make, and places, are not there yet
  kBound,   ///< all rules, of a method bound to other sizes: its samples are of those in the file
};

/// What a check counts against, and what stops it. All of it outlives the check.
struct Governor {
  WorkMeter* work;
  const RunStop* stop;  ///< nullptr: it cannot be stopped
};

struct MethodCheck {
  MethodCheck(const fb::Method& m, const BundleSections& s, const OpTable& o, const Allocator& a,
              const Governor& g)
      : method(m), sections(s), ops(o), work(g.work), stop(g.stop), memory(a) {}

  const fb::Method& method;
  const BundleSections& sections;
  const OpTable& ops;
  WorkMeter* work;
  const RunStop* stop;
  CheckMode mode = CheckMode::kFile;
  Pool memory;  ///< for what the check itself takes
  Span<ValueFacts> values;

  const char* name() const { return text_of(method.name()); }
  bool derives() const { return kDynamicShapes && mode == CheckMode::kDerive; }
  /// kCancelled or kDeadlineExceeded if the run that this is part of has to end.
  Fault check_stop() const { return stop != nullptr && stop->is_due() ? stop->status() : Fault(); }
  int32_t node_count() const { return static_cast<int32_t>(count_of(method.nodes())); }
  const fb::Node& node(int32_t i) const { return node_at(method, i); }
  const fb::Value& value(size_t i) const { return value_at(method, i); }
  // What is negative is too large, too.
  bool is_value(int32_t id) const { return static_cast<size_t>(id) < values.size(); }
  bool is_source(int32_t id) const {
    return static_cast<uint64_t>(int64_t{id} + 1) <= count_of(method.sources());
  }
  /// `fault` at this value, with its name; ok stays ok.
  Fault at_value(size_t id, Fault fault) const;
  /// `fault` at this node, with its op and source line; ok stays ok.
  Fault at_node(int32_t node, Fault fault) const;
};

/// kInvalidBundle with this text.
#if LAZYRT_MESSAGES
Fault bad_bundle(const char* format, ...) __attribute__((format(printf, 1, 2)));
#else
template <size_t N, class... Args>
__attribute__((always_inline)) inline Fault bad_bundle(const char (&format)[N],
                                                       const Args&... args) {
  return Fault(Error::kInvalidBundle, format, args...);
}
#endif

// The rules, in the order in which they build on each other.
Fault check_values(MethodCheck* check);           // value_rules.cpp
Fault check_input_bindings(MethodCheck* check);   // interface_rules.cpp
Fault check_nodes(MethodCheck* check);            // node_rules.cpp
Fault check_guards(MethodCheck* check);           // guard_rules.cpp
Fault check_states(MethodCheck* check);           // state_rules.cpp
Fault check_output_bindings(MethodCheck* check);  // interface_rules.cpp
Fault check_memory(MethodCheck* check);           // memory_rules.cpp
Fault check_samples(MethodCheck* check);          // sample_rules.cpp
Fault check_symbols(MethodCheck* check);          // symbol_rules.cpp
Fault check_reserved(MethodCheck* check);         // reserved_rules.cpp
/// kUnsupported names the first part that this runtime cannot run.
Fault check_supported(const MethodCheck& check);  // reserved_rules.cpp

/// Checks all rules; for a derived method, only those that make what is not there yet.
Fault check_rules(MethodCheck* check);  // verifier.cpp

/// Element count × element size without overflow, and no more than a file may say.
bool checked_bytes(const TensorSpec& spec, uint64_t* bytes);  // value_rules.cpp

/// Arena and states fit into `limit`. REQUIRES: check_values.
Fault check_memory_limit(const MethodCheck& check, uint64_t limit);  // memory_rules.cpp
/// Checks that `other` has the interface and the states of `method`: names, dtypes, fixed extents,
/// symbols. REQUIRES: both were checked.
Fault check_same_interface(const fb::Method& method,
                           const fb::Method& other);  // interface_match.cpp
/// The same for a variant in a file. REQUIRES: both were checked.
Fault check_variant(const OpTable& ops, const fb::Method& method,
                    const fb::Method& variant);  // variant_rules.cpp

/// No two of `names` are equal; none is empty. `what`: "input", "method",
/// ... Reorders `names`.
Fault check_names(Span<const flatbuffers::String*> names, Word what);

}  // namespace lazyrt
