#pragma once

// What a backend with memory of its own implements, beside or instead of kernels: it takes
// stretches of nodes, compiles them into segments and runs them in order, while the host goes on.
//
// A session gives each space one arena with the places of the bundle's plan. Values are copied
// between spaces by steps of their own: a value goes to a space once, when the first node there
// needs it, and comes back to the host when a node, a guard, an output or a state does. Inputs live
// on the host; a state does, too, unless only nodes of one space read and make it. Constants are
// the device's affair: it sees them in `compile`, and keeps what it wants of them, packed as it
// likes, in what Backend::open_weights made.

#include "runtime/op/op_def.h"

namespace lazyrt {

/// A node of a segment.
struct SegmentNode {
  size_t index = 0;  ///< in the method, for messages
  const OpEntry* op = nullptr;
  /// Specs and the bytes of constants (TensorSpec::constant) are valid during compile; attributes
  /// as long as the segment. The pages of constants that were packed are dropped then.
  NodeSpec spec;
  /// Of its inputs and outputs, in their order: values of the method by number, -1 = absent. As
  /// long as the segment.
  Span<const int32_t> values;
};

struct SegmentSpec {
  Span<const SegmentNode> nodes;  ///< in order of execution
  /// Results of these nodes that are read outside of the segment, in the order in which they are
  /// made. What shares memory with one of them (it has the same address) is there, too.
  Span<const int32_t> leaving;
  Allocator allocator;       ///< the session's: for memory of the host
  void* services = nullptr;  ///< what Backend::open made
};

/// A piece of a device's memory.
struct SpaceBlock {
  void* address = nullptr;
  /// Where the host has the same bytes, aligned to kAlignment: the device sees what was written
  /// before `flush` or `wait` was called, the host sees all once `wait` has returned. nullptr:
  /// nowhere.
  void* host = nullptr;
};

/// The device of a backend, constant data. `program` is what Backend::open_weights made, `services`
/// what Backend::open did. Addresses are the device's own: only it looks behind them, others add
/// offsets to them; they need not be pointers, but nullptr is none. `allocate`, `release_memory`
/// and `compile` are called for several sessions at once with one `program`; the rest belongs to
/// one thread of a session at a time.
struct Device {
  const char* space = "";  ///< name of its memory
  /// Of what `allocate` answers and of workspaces: a power of two, kAlignment at least. Values are
  /// aligned to kAlignment.
  size_t alignment = kAlignment;

  /// Allocates memory of the space; from any thread. kOutOfMemory. If the host has that memory,
  /// too, and all nodes run on the device, both have one arena: inputs, outputs and states are not
  /// copied.
  Fault (*allocate)(void* program, uint64_t bytes, SpaceBlock* block) = nullptr;
  void (*release_memory)(void* program, void* address) = nullptr;

  /// Ok, or the reason (kUnsupported) why the device does not run this node.
  Fault (*takes)(void* services, const OpEntry& op, const NodeSpec& node) = nullptr;
  /// Makes a segment of nodes that it takes: prepared->state, the bytes of scratch in the space
  /// that it needs, and how many bytes of constants it keeps now and did not before. kUnsupported:
  /// spec.nodes[*refused] moves to the next backend, and what is before and behind it is compiled
  /// anew. *refused is the number of nodes at the call; if it is left so, all of them move.
  Fault (*compile)(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused) = nullptr;
  /// Where the inputs and outputs of the nodes are, node by node, inputs first; absent ones have
  /// dtype kNone, constants no data. The views stay where they are. Before the first submit, and
  /// again when addresses have changed, since memory of the caller came or went; nothing is under
  /// way then.
  Fault (*bind)(void* segment, Span<const TensorView> operands, void* workspace) = nullptr;
  void (*release)(void* segment, const Allocator& allocator) = nullptr;

  // These queue work of a session, which happens in the order of the calls. None of it has to begin
  // before `flush` or `wait`, so all that a run queues may be one submission. An error may be
  // returned by any later call, and stays until `wait` returns it. Work that was queued before the
  // node that failed is done; work behind it may be done or not, but for `copy`.

  Fault (*submit)(void* segment) = nullptr;
  /// Copies from the host: when it returns, `from` may change. nullptr: zeros.
  Fault (*copy_in)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// Copies to the host: the bytes have arrived when `wait` returns.
  Fault (*copy_out)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// Copies within the space, for states that take their next value; the ranges do not overlap. It
  /// must not be done if a node failed that was queued since the last wait. nullptr: states live on
  /// the host.
  Fault (*copy)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// Begins the queued work, because the host works on meanwhile. nullptr: the device has begun
  /// anyway.
  Fault (*flush)(void* services) = nullptr;
  /// Returns when nothing is queued or under way. Of several nodes that failed the error is of that
  /// with the lowest index, which it gives in its text and in *node. *node is 0 at the call, and is
  /// left so if not a node failed but the device.
  Fault (*wait)(void* services, size_t* node) = nullptr;

  /// Nanoseconds that each node of the segment took in its last run, which has been waited for;
  /// what ran as one is divided as the device likes. Only with BackendOptions::profile. nullptr:
  /// only whole segments are measured.
  Fault (*times)(void* segment, Span<uint64_t> nanoseconds) = nullptr;
};

}  // namespace lazyrt
