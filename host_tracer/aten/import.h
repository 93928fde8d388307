#pragma once

// ATen trace -> graph over our op table.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// What the importer met.
struct ImportReport {
  struct Op {
    std::string name;  ///< "aten::add.Tensor"
    std::string rule;  ///< file of aten/rules with the rule; empty: the call was dropped or refused
    int64_t calls = 0;
  };
  std::vector<Op> ops;     ///< by name
  int64_t dead_nodes = 0;  ///< calls whose results nothing uses (asserts among them)
};

/// Makes the graph of a trace. Inputs are kept in order, used or not; results that nothing uses are
/// dropped, together with their calls. Parameters share their bytes with the trace. Guards on
/// values that no input changes are checked here and dropped; kInternal if one does not hold.
///
/// Fails with one text that lists every operator that cannot be exported, with its source lines; a
/// wrong trace (undefined values, impossible shapes) fails in the same way. `report` may be
/// nullptr; it is filled on failure, too. `ops` must outlive the graph. `any_size`: nodes are made
/// even if they do nothing at these sizes, for programs captured at several sizes.
Outcome<Graph> import_trace(const Trace& trace, const OpTable& ops, ImportReport* report,
                            bool any_size = false);

}  // namespace lazyrt
