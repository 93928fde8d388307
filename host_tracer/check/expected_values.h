#pragma once

// The value that eager gives for each value of a graph: a value of the trace if it is one, else
// computed from those by reference kernels.

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>

#include "host_tracer/check/eager_wobble.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

class ExpectedValues {
 public:
  /// `graph` was made from `trace`, which `wobble` evaluates on `inputs`. All must outlive this.
  ExpectedValues(const Trace& trace, const Graph& graph, const EagerWobble& wobble,
                 std::vector<at::Tensor> inputs)
      : trace_(trace), graph_(graph), wobble_(wobble), inputs_(std::move(inputs)) {}

  /// Evaluates the trace.
  Outcome<Done> make();
  /// The value by ATen; undefined if it is not known, with the reason in *why.
  at::Tensor of(ValueId id, std::string* why);
  bool is_eager(ValueId id) const;
  /// How far it moves under rounding. The first call evaluates the trace several more times.
  Wobble wobble_of(ValueId id);

  /// Values of the trace that a node of another program may have made in the place of this one:
  /// what a fused node computes on its way, or what it would if more were fused. Of the same type.
  std::vector<TraceValueId> neighbours(ValueId id) const;
  /// Returns one of them, in the form of `id`.
  at::Tensor neighbour(ValueId id, TraceValueId value) const;
  Wobble wobble_of_neighbour(ValueId id, TraceValueId value);

 private:
  /// One evaluation: the trace's values, and the graph's values computed from them.
  struct Evaluation {
    std::vector<at::Tensor> trace;
    int places = 1;  ///< by how many last places its inputs differ
    std::map<ValueId, at::Tensor> made;
  };
  at::Tensor value_in(Evaluation& evaluation, ValueId id, std::string* why);
  at::Tensor from_trace(const Evaluation& evaluation, const Value& value) const;
  at::Tensor by_kernel(Evaluation& evaluation, ValueId id, std::string* why);
  at::Tensor leaf(ValueId id) const;
  std::vector<Evaluation>& moved();

  const Trace& trace_;
  const Graph& graph_;
  const EagerWobble& wobble_;
  const std::vector<at::Tensor> inputs_;
  Evaluation plain_;
  std::vector<at::Tensor> states_;  ///< before the run
  std::optional<std::vector<Evaluation>> moved_;
};

}  // namespace lazyrt
