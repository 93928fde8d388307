#pragma once

// Traces of calls in a row: what becomes of a program whose calls change what later ones do.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Makes the trace one for phase `phase` alone: a guard on the hidden state kPhaseState, which the
/// run sets to `next`. Phase 0 comes first.
void set_phase(Trace& trace, int64_t phase, int64_t next);

/// Drops guards on what the states of these names alone say: they are known in the trace's phase.
/// `computed` are parameters, buffers and states into which some trace writes what varies.
void drop_known_guards(Trace& trace, const std::vector<std::string>& names,
                       const std::vector<std::string>& computed);

/// Sources of the guards (checks aside) that depend on states (or buffers) of these names.
std::vector<Source> guards_on(const Trace& trace, const std::vector<std::string>& names);

/// Gives the parameters, buffers and states of that name this content; others stay.
void set_initial(Trace& trace, const std::string& name, const SampleTensor& content);

/// Of the states of these names: takes those out of all traces from which no output, no guard and
/// no other state is computed in any of them. Answers their names.
std::vector<std::string> drop_unread_states(const std::vector<Trace*>& traces,
                                            const std::vector<std::string>& names);

/// True when both traces compute the same from their inputs and states: what depends on neither is
/// compared by its value, bit by bit; findings, notes and syncs do not count. States named in
/// `fixed` are constants with the content that they have in each trace. False also where a constant
/// cannot be computed.
bool compute_the_same(const Trace& a, const Trace& b, const std::vector<std::string>& fixed);

}  // namespace lazyrt
