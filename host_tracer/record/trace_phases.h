#pragma once

// Traces of calls in a row: for programs whose calls change what later calls do.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Restricts the trace to phase `phase`: adds a guard on the hidden state kPhaseState, which the
/// run sets to `next`. Phase 0 comes first.
void set_phase(Trace& trace, int64_t phase, int64_t next);

/// Drops guards that depend only on states of these names: their values are known in the trace's
/// phase. `computed` are parameters, buffers and states into which some trace writes values that
/// vary.
void drop_known_guards(Trace& trace, const std::vector<std::string>& names,
                       const std::vector<std::string>& computed);

/// Sources of the guards (checks aside) that depend on states (or buffers) of these names.
std::vector<Source> guards_on(const Trace& trace, const std::vector<std::string>& names);

/// Gives the parameters, buffers and states of that name this content; others are not changed.
void set_initial(Trace& trace, const std::string& name, const SampleTensor& content);

/// Among the states of these names: removes from all traces those from which no output, guard or
/// other state is computed in any of them. Returns their names.
std::vector<std::string> drop_unread_states(const std::vector<Trace*>& traces,
                                            const std::vector<std::string>& names);

/// True when both traces compute the same from their inputs and states: what depends on neither is
/// compared by its value, bit by bit; findings, notes and syncs do not count. States named in
/// `fixed` are constants with the content that they have in each trace. False also where a constant
/// cannot be computed.
bool compute_the_same(const Trace& a, const Trace& b, const std::vector<std::string>& fixed);

}  // namespace lazyrt
