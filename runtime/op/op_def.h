#pragma once

// What a kernel folder exports, and the tables in which the runtime and the host find it.

#include <cstddef>
#include <cstdint>

#include "lazyrt/span.h"
#include "lazyrt/tensor_view.h"
#include "runtime/core/allocator.h"
#include "runtime/core/fault.h"
#include "runtime/op/work.h"
#include "schema/ops_generated.h"

namespace lazyrt {

/// The attributes of one node, in place in the bundle (or in a host buffer).
struct OpAttrs {
  fb::OpAttrs kind = fb::OpAttrs::NONE;
  const void* table = nullptr;

  /// REQUIRES: kind is the union member of table T.
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(table);
  }
};

/// One node as kernels see it. Specs have the shapes that are bound now.
struct NodeSpec {
  OpAttrs attrs;
  Span<const TensorSpec> inputs;  ///< absent optional operands have dtype kNone
  Span<const TensorSpec> outputs;
};

/// Given to Kernel::prepare. `backend` is the backend's own per-session services
/// (runtime/backends/<X>/<X>_backend.h says what).
struct PrepareContext {
  NodeSpec node;
  Allocator allocator;
  void* backend = nullptr;
};

/// What prepare answers.
struct PreparedKernel {
  void* state = nullptr;           ///< passed to run and release; may stay nullptr
  size_t workspace_bytes = 0;      ///< scratch that run needs, aligned to kAlignment
  size_t packed_weight_bytes = 0;  ///< memory held for packed constants, for reports
};

/// Given to Kernel::run.
struct RunContext {
  OpAttrs attrs;
  Span<const TensorView> inputs;
  Span<const TensorView> outputs;
  void* workspace = nullptr;  ///< workspace_bytes of this kernel
  void* backend = nullptr;    ///< as in PrepareContext
  bool rebind = true;         ///< data pointers may differ from the last run of this node
};

/// One way to run an op. All functions are re-entrant over different states.
struct Kernel {
  /// Ok, or the reason (kUnsupported) why this node is not for this kernel. nullptr = always ok.
  Fault (*supports)(const NodeSpec& node) = nullptr;
  /// Session time: may allocate and pack. nullptr = nothing to prepare.
  Fault (*prepare)(const PrepareContext& context, PreparedKernel* prepared) = nullptr;
  /// Run time: no allocation; index operands are checked here.
  Fault (*run)(void* state, const RunContext& context) = nullptr;
  /// Frees what prepare made. nullptr = nothing.
  void (*release)(void* state, const Allocator& allocator) = nullptr;
  /// Not empty: this kernel is a choice. For a node that `supports` accepts, the first of these
  /// whose own `supports` accepts it is the kernel, and nothing else of this struct is used. They
  /// have no ways themselves.
  Span<const Kernel> ways;
};

/// For an op that covers many functions (unary, binary): which of them a node computes.
struct OpFunctions {
  int (*number)(const OpAttrs& attrs) = nullptr;  ///< nullptr: the op is one function
  const char* const* (*names)() = nullptr;        ///< by number
};

/// An op's definition: its operand counts, its shape rule, its readable reference kernel. Made by
/// define_op.
struct OpDef {
  static constexpr int kAnyNumber = -1;

  int min_inputs = 1;
  int max_inputs = 1;  ///< may be kAnyNumber
  int outputs = 1;
  /// Bit i: input i may be absent.
  uint32_t optional_inputs = 0;
  /// Bit i: output 0 may be written over input i of the same size (elementwise).
  uint32_t inplace_inputs = 0;
  /// Output 0 has the bytes of input 0 in the same order, so it may share its memory.
  bool is_view = false;
  /// The shape rule: checks attributes and operands (untrusted) and fills dtype and shape of every
  /// output. Must not read tensor data. Called by the bundle verifier, the exporter and dynamic
  /// runs.
  Fault (*infer)(const OpAttrs& attrs, Span<const TensorSpec> inputs,
                 Span<TensorSpec> outputs) = nullptr;
  /// The work rule: an upper bound of the work of a run, preparation included, in the right order
  /// of magnitude and for any data and kernel. Called with operands and results that `infer`
  /// accepted. It may count work that is not done, but must not leave out a loop. nullptr =
  /// work_by_size.
  Work (*work)(const OpAttrs& attrs, Span<const TensorSpec> inputs,
               Span<const TensorSpec> outputs) = nullptr;
  Kernel reference;
  OpFunctions functions;

  constexpr OpDef with_inputs(int min, int max) const {
    OpDef def = *this;
    def.min_inputs = min;
    def.max_inputs = max;
    return def;
  }
  constexpr OpDef with_outputs(int count) const { return with(&OpDef::outputs, count); }
  constexpr OpDef with_optional_inputs(uint32_t bits) const {
    return with(&OpDef::optional_inputs, bits);
  }
  constexpr OpDef with_inplace_inputs(uint32_t bits) const {
    return with(&OpDef::inplace_inputs, bits);
  }
  constexpr OpDef as_view() const { return with(&OpDef::is_view, true); }
  /// Of the reference kernel.
  constexpr OpDef with_prepare(decltype(Kernel::prepare) prepare) const {
    OpDef def = *this;
    def.reference.prepare = prepare;
    return def;
  }
  constexpr OpDef with_functions(OpFunctions value) const { return with(&OpDef::functions, value); }

  /// Of operand `input`.
  bool may_overwrite(size_t input) const {
    return input < 32 && (inplace_inputs >> input & 1) != 0;
  }

 private:
  template <class Value>
  constexpr OpDef with(Value OpDef::*member, Value value) const {
    OpDef def = *this;
    def.*member = value;
    return def;
  }
};

/// Begins a definition: one input, one output; the members of OpDef that begin with `with` say what
/// is different.
constexpr OpDef define_op(decltype(OpDef::infer) infer, decltype(OpDef::work) work,
                          decltype(Kernel::run) run) {
  OpDef def;
  def.infer = infer;
  def.work = work;
  def.reference.run = run;
  return def;
}

/// For ops that touch each element of operands and results a few times.
Work work_by_size(const OpAttrs& attrs, Span<const TensorSpec> inputs,
                  Span<const TensorSpec> outputs);

/// Which kernel of an op; also the index into OpEntry::kernels.
enum class KernelSlot : uint8_t { kReference = 0, kCpu = 1, kVulkan = 2 };
constexpr int kKernelSlots = 3;

/// What a selective build kept of an op. Bit i of `types` is element type i.
struct KeptFunction {
  int number = 0;
  uint32_t types = 0;
};
struct KeptParts {
  uint32_t types = 0;                  ///< of an op that is one function
  Span<const KeptFunction> functions;  ///< of one that is many
};

/// A line of the registry.
struct OpEntry {
  fb::OpAttrs kind = fb::OpAttrs::NONE;
  const char* name = nullptr;  ///< snake_case
  const OpDef* def = nullptr;
  const Kernel* kernels[kKernelSlots] = {};  ///< nullptr: no such facet
  const KeptParts* kept = nullptr;           ///< nullptr: all of it

  /// The element types that this function of the op (OpDef::functions) is built for, as bits.
  uint32_t types_of(int function) const;
};

/// The kernel in this slot that takes the node, or nullptr with the reason in *why (kUnsupported).
const Kernel* find_kernel(const OpEntry& op, KernelSlot slot, const NodeSpec& node, Fault* why);

/// An op supplied by the caller, resolved by CustomOp.name and version.
struct CustomOpEntry {
  const char* name = nullptr;
  uint32_t version = 0;
  OpEntry entry;  ///< entry.kind is fb::OpAttrs::CustomOp
};

/// All ops that a program may use. Borrowed; must outlive what is made with it.
struct OpTable {
  Span<const OpEntry> builtin;  ///< indexed by the union member's number
  Span<const CustomOpEntry> custom;
  /// The line of CMake that says what a selective build keeps; nullptr: it keeps all.
  const char* selection = nullptr;

  /// The op of these attributes, or nullptr when this table lacks it.
  const OpEntry* find(const OpAttrs& attrs) const;
};

}  // namespace lazyrt
