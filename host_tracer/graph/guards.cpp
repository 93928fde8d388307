#include "host_tracer/graph/guards.h"

#include <cmath>
#include <cstdio>

#include "host_tracer/graph/elements.h"

namespace lazyrt {
namespace {

/// An integer as exactly as an int64 can hold it.
std::optional<int64_t> whole(double x) {
  if (!(x >= -9223372036854775808.0 && x < 9223372036854775808.0)) return std::nullopt;
  if (x != std::trunc(x)) return std::nullopt;
  return static_cast<int64_t>(x);
}

struct ToReal {
  double operator()(bool v) const { return v ? 1 : 0; }
  double operator()(int64_t v) const { return static_cast<double>(v); }
  double operator()(double v) const { return v; }
};

struct ToText {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.9g", v);
    return buffer;
  }
};

bool same_assumption(const GraphGuard& a, const GraphGuard& b) {
  return a.value == b.value && a.seen == b.seen;
}

/// What is checked here and steers there is a guard.
void keep_once(const GraphGuard& guard, std::vector<GraphGuard>& kept) {
  for (GraphGuard& earlier : kept) {
    if (!same_assumption(earlier, guard)) continue;
    if (earlier.check && !guard.check) earlier = guard;
    return;
  }
  kept.push_back(guard);
}

}  // namespace

double guard_tolerance(DType dtype, double seen) {
  const bool is_short = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const double relative = is_short ? 2e-2 : 1e-4;
  return std::isfinite(seen) ? relative * std::fmax(std::fabs(seen), 1e-2) : 0;
}

std::optional<SeenNumber> seen_of(DType dtype, const SeenNumber& seen) {
  if (std::holds_alternative<bool>(seen)) return seen;
  if (is_floating(dtype)) return SeenNumber(std::visit(ToReal{}, seen));
  if (std::holds_alternative<int64_t>(seen)) return seen;
  const std::optional<int64_t> integer = whole(std::get<double>(seen));
  if (!integer) return std::nullopt;
  return SeenNumber(*integer);
}

bool is_seen(DType dtype, const void* data, const SeenNumber& seen) {
  if (const bool* truth = std::get_if<bool>(&seen)) {
    return (is_floating(dtype) ? read_element(dtype, data, 0) != 0
                               : read_integer(dtype, data, 0) != 0) == *truth;
  }
  if (const int64_t* integer = std::get_if<int64_t>(&seen))
    return read_integer(dtype, data, 0) == *integer;
  const double x = read_element(dtype, data, 0), then = std::get<double>(seen);
  if (std::isnan(x) || std::isnan(then)) return std::isnan(x) && std::isnan(then);
  return x == then || std::fabs(x - then) <= guard_tolerance(dtype, then);
}

std::string seen_text(const SeenNumber& seen) { return std::visit(ToText{}, seen); }

Failure never_holds(const GraphGuard& guard) {
  const std::string where = guard.source.text();
  return {Error::kInternal,
          (guard.text.empty() ? "a value" : guard.text) + " was " + seen_text(guard.seen) +
              " in the trace, but no input changes it and it has another value here" +
              (where.empty() ? "" : " (" + where + ")")};
}

Outcome<bool> guards_hold(const Graph& graph, const std::vector<HostTensor>& inputs) {
  Graph probe = graph;
  probe.outputs().clear();
  probe.guards().clear();
  for (GraphState& state : probe.states()) state.next = state.value;
  for (const GraphGuard& guard : graph.guards()) {
    probe.outputs().push_back({guard.text, guard.value, std::nullopt});
  }
  probe.remove_dead();
  auto values = evaluate(probe, inputs);
  if (!values.ok()) return values.failure();
  for (size_t i = 0; i < values->size(); ++i) {
    const HostTensor& x = (*values)[i];
    if (!is_seen(x.dtype, x.data.get(), graph.guards()[i].seen)) return false;
  }
  return true;
}

Outcome<size_t> settle_guards(Graph& graph) {
  std::vector<GraphGuard> kept;
  for (const GraphGuard& guard : graph.guards()) {
    const Value& v = graph.value(guard.value);
    if (v.kind == ValueKind::kConstant) {
      if (!is_seen(v.dtype, v.constant.data, guard.seen)) return never_holds(guard);
      continue;
    }
    keep_once(guard, kept);
  }
  const size_t dropped = graph.guards().size() - kept.size();
  graph.guards() = std::move(kept);
  return dropped;
}

}  // namespace lazyrt
