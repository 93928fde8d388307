#pragma once

// What each op looks like when its operands are given channels-last: used by assign_layout.

#include <optional>
#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// The permutation from plain [N, C, spatial...] to channels-last [N, spatial..., C]. Rank >= 3.
std::vector<int32_t> channels_last(int rank);

/// How a node takes one of its operands when it runs channels-last.
enum class OperandForm : uint8_t {
  kLast,    ///< the operand in its channels-last form
  kAsIs,    ///< unchanged: absent, per-channel vectors, scalars that broadcast
  kRaised,  ///< reshaped to the node's rank by leading 1s, then permuted
};

/// A node rewritten for channels-last data.
struct LastForm {
  Attrs attrs;
  std::vector<OperandForm> operands;
  /// The result is its channels-last form; else it is the plain one (dims were reduced away).
  bool last_result = true;
  /// The result is [N, C * spatial] with the channels innermost; only linear nodes read it.
  bool flat_result = false;
};

/// How `node` runs channels-last, or nothing if it cannot. `linear_readers`: every reader of its
/// result is a linear with constant weights, which can take their columns in any order.
std::optional<LastForm> last_form(const Graph& graph, const Node& node, bool linear_readers);

}  // namespace lazyrt
