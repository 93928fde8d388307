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
  /// Specs and the bytes of constants (TensorSpec::constant) are there during compile; attributes
  /// as long as the segment. The pages of constants of which something was packed are dropped then.
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

  /// Memory of the space; any thread. kOutOfMemory.
  Fault (*allocate)(void* program, uint64_t bytes, void** address) = nullptr;
  void (*release_memory)(void* program, void* address) = nullptr;

  /// Ok, or the reason (kUnsupported) why the device does not run this node.
  Fault (*takes)(void* services, const OpEntry& op, const NodeSpec& node) = nullptr;
  /// Makes a segment of nodes that it takes: prepared->state, the bytes of scratch in the space
  /// that it needs, and how many of constants it keeps. kUnsupported: the node *refused of
  /// the spec goes to the next backend, and what remains is compiled anew; *refused is the number
  /// of nodes before, and where it stays so, all of them go.
  Fault (*compile)(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused) = nullptr;
  /// Where the inputs and outputs of the nodes are, node by node, inputs first; absent ones have
  /// dtype kNone, constants no data. The views stay where they are. Before the first submit, and
  /// again when addresses have changed, since memory of the caller came or went; nothing is under
  /// way then.
  Fault (*bind)(void* segment, Span<const TensorView> operands, void* workspace) = nullptr;
  void (*release)(void* segment, const Allocator& allocator) = nullptr;

  // These queue work of a session, which happens in the order of the calls; none of it has to begin
  // before `flush` or `wait`, so all that a run queues may be one submission. What goes wrong may
  // be told by any later call; the error stays until `wait` tells it. Behind an error the device
  // may go on or not, but what was queued before it is done.

  Fault (*submit)(void* segment) = nullptr;
  /// From the host: when it returns, `from` may change.
  Fault (*copy_in)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// To the host: the bytes are there when `wait` returns.
  Fault (*copy_out)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// Within the space, bytes that do not overlap. Behind an error it must not happen. nullptr:
  /// states live on the host.
  Fault (*copy)(void* services, void* to, const void* from, size_t bytes) = nullptr;
  /// Begins what is queued: the host works on meanwhile. nullptr: the device does not wait for it.
  Fault (*flush)(void* services) = nullptr;
  /// Returns when nothing is queued or under way, with the error of the node that comes first in
  /// the method, named by its index in the text and in *node. *node is 0 before: it stays so where
  /// no node failed but the device.
  Fault (*wait)(void* services, size_t* node) = nullptr;

  /// Nanoseconds that each node of the segment took in its last run, which has been waited for;
  /// what ran as one is divided as the device likes. Only with BackendOptions::profile. nullptr:
  /// only whole segments are measured.
  Fault (*times)(void* segment, Span<uint64_t> nanoseconds) = nullptr;
};

}  // namespace lazyrt
