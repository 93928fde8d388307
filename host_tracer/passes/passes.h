#pragma once

// The passes. Each rewrites the graph in place, keeps what it computes, and returns how many
// changes it made. One file each; pipeline.h has their order.

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// Removes what computes nothing: identity reshape, permute, expand, slice, cast, pad; x*1, x-0;
/// concat of one; reshape of reshape, permute of permute; expands that broadcasting does anyway;
/// permutes of extents 1 become reshapes (but those that are hints for assign_layout). Exact to the
/// bit.
Outcome<size_t> simplify(Graph& graph);

/// Removes only the expands that broadcasting does anyway; they are the same at all sizes.
Outcome<size_t> drop_expands(Graph& graph);

/// Makes permutes that move data do so without the dims of extent 1, which reshapes remove before
/// and add after: permutes that do the same then look the same. To compare graphs, not to run
/// faster.
Outcome<size_t> permute_without_units(Graph& graph);

/// Computes nodes that depend on constants alone, with the reference kernels, unless the result is
/// much larger than the operands.
Outcome<size_t> fold_constants(Graph& graph);
/// The same, however large results are: for graphs of several sizes that have to stay alike.
Outcome<size_t> fold_all_constants(Graph& graph);

/// Common subexpressions: equal nodes on equal operands are computed once; equal constants are one.
Outcome<size_t> eliminate_common(Graph& graph);

/// Drops nodes and constants that nothing reads and numbers values anew.
Outcome<size_t> eliminate_dead(Graph& graph);

/// matmul by a constant matrix becomes linear; a constant added to the channels of a linear, conv2d
/// or conv_transpose2d without bias becomes its bias.
Outcome<size_t> find_linear(Graph& graph);

/// x * rsqrt(mean(x^2) + epsilon) [* weight] becomes rms_norm.
Outcome<size_t> find_rms_norm(Graph& graph);

/// x * sigmoid(x) becomes silu, x * hardsigmoid(x) hardswish.
Outcome<size_t> find_activation(Graph& graph);

/// Chooses for every value whether it is kept channels-last, so that the fewest bytes are moved by
/// permutes in all (a minimum cut); see layout.cpp.
Outcome<size_t> assign_layout(Graph& graph);

/// A transposed second operand of matmul becomes transpose_b.
Outcome<size_t> fold_transpose(Graph& graph);

/// Folds batch_norm after conv2d, conv_transpose2d or linear into their weights and bias.
Outcome<size_t> fold_batch_norm(Graph& graph);

/// Turns each remaining batch_norm into a multiply and an add with constants.
Outcome<size_t> expand_batch_norm(Graph& graph);

/// Replaces outputs and next values that are states by copies, because a state is overwritten at
/// the end of a run. The copy is a reshape to the same shape, which simplify would remove again.
Outcome<size_t> separate_states(Graph& graph);

/// Drops guards that a constant settles (fails where it contradicts), and moves what the guards
/// need to the front, so that a run on other inputs than the trace's ends early. Counts nodes moved
/// and guards dropped.
Outcome<size_t> schedule_guards(Graph& graph);

/// relu and clamp after conv2d, conv_transpose2d or linear become their min and max.
Outcome<size_t> fuse_clamp(Graph& graph);

}  // namespace lazyrt
