#pragma once

#include "lazyrt/runtime.h"

namespace lazyrt::fuzz {

/// Reads every byte.
void read_all(const TensorView& view);
void read_texts(const NodeInfo& node);

/// Session::node, or why there is none.
inline Result<NodeInfo> node_of(const Session& session, size_t i) { return session.node(i); }

/// Reads statistics, nodes and refusals of guards, of all variants. It aborts where a node that
/// there is cannot be read.
void read_statistics(const Method& method, const Session& session);

/// Reads all that a Program tells: names, texts, samples to their last byte.
void walk(const Program& program);

/// Uses what the API has beside set_input and run: the session's own results and states as its
/// inputs, memory of the caller with and without a tail, statistics. Outcomes may differ between
/// backends, as feedback makes much of rounding; the sanitizers judge. False: it refused what it
/// must take.
bool walk(const Method& method, Session* session);

}  // namespace lazyrt::fuzz
