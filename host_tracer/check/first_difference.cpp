#include "host_tracer/check/first_difference.h"

#include <ATen/ATen.h>

#include <chrono>
#include <filesystem>

#include "host_tracer/check/bundle_runner.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/trace/operands.h"

namespace lazyrt {
namespace {

using Clock = std::chrono::steady_clock;

/// Removes its file.
struct TemporaryFile {
  explicit TemporaryFile(std::string place) : path(std::move(place)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string path;
};

class Bisection {
 public:
  Bisection(const Trace& trace, const std::vector<at::Tensor>& inputs,
            const EagerWobble::Values& values, const ExportTrace& export_trace,
            const std::string& path, double seconds)
      : trace_(trace),
        values_(values),
        export_(export_trace),
        file_(path),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
    for (const at::Tensor& input : inputs) inputs_.push_back(to_sample(input));
    find_last_uses();
  }

  /// Finds the smallest k for which the first k nodes give something else. Below `low` all agree;
  /// `high` is known, or assumed, to differ.
  Outcome<size_t> run() {
    size_t low = 0, high = trace_.nodes.size();
    bool seen = false;
    while (high - low > 1) {
      if (Clock::now() > end_) {
        return Failure{Error::kUnsupported, "the search took too long"};
      }
      const size_t middle = low + (high - low) / 2;
      auto same = agrees(middle);
      if (!same.ok()) return same.failure();
      seen = seen || !*same;
      (*same ? low : high) = middle;
    }
    if (seen) return high - 1;
    auto same = agrees(trace_.nodes.size());
    if (!same.ok()) return same.failure();
    if (*same)
      return Failure{Error::kUnsupported,
                     "wherever the program is cut, the bundle of its first part is right"};
    return high - 1;
  }

 private:
  void find_last_uses() {
    last_use_.assign(trace_.values.size(), 0);
    const size_t count = trace_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      for_each_operand(trace_.nodes[i],
                       [&](TraceValueId id) { last_use_[static_cast<size_t>(id)] = i; });
    }
    for (const TraceOutput& out : trace_.outputs) {
      if (out.value != kNoTraceValue) last_use_[static_cast<size_t>(out.value)] = count;
    }
    for (const TraceState& state : trace_.states) {
      last_use_[static_cast<size_t>(state.next)] = count;
    }
  }

  /// The values of the first `count` nodes that others, or the results, need.
  std::vector<TraceValueId> cut_values(size_t count) const {
    std::vector<TraceValueId> cut;
    for (size_t i = 0; i < count; ++i) {
      for (const TraceValueId id : trace_.nodes[i].outputs) {
        if (id == kNoTraceValue) continue;
        const auto index = static_cast<size_t>(id);
        if (last_use_[index] >= count && values_.plain[index].defined()) cut.push_back(id);
      }
    }
    return cut;
  }

  /// The program up to that node; states have the content from before the call.
  Trace beginning(size_t count, const std::vector<TraceValueId>& cut) const {
    Trace part = trace_;
    part.nodes.resize(count);
    part.guards.clear();
    part.eager.reset();
    part.sample_inputs.clear();
    part.sample_outputs.clear();
    part.outputs.clear();
    for (const TraceValueId id : cut) {
      part.outputs.push_back({"value_" + std::to_string(id), id, std::nullopt});
    }
    for (size_t i = 0; i < part.states.size(); ++i) {
      TraceState& state = part.states[i];
      state.next = state.leaf;
      if (values_.states.empty()) continue;
      part.values[static_cast<size_t>(state.leaf)].constant =
          to_sample(values_.states[i].contiguous()).data;
    }
    return part;
  }

  Outcome<bool> agrees(size_t count) const {
    const std::vector<TraceValueId> cut = cut_values(count);
    if (cut.empty()) return true;
    LAZYRT_TRY(export_(beginning(count, cut), file_.path));
    const auto bundle = LoadedBundle::open(file_.path);
    if (!bundle.ok()) return bundle.failure();
    auto runner = BundleRunner::make((*bundle)->program());
    if (!runner.ok()) return runner.failure();
    auto run = (*runner)->run(inputs_, true);
    if (!run.ok()) return run.failure();
    for (size_t i = 0; i < cut.size(); ++i) {
      if (!is_right(cut[i], run->outputs[i])) return false;
    }
    return true;
  }

  bool is_right(TraceValueId id, const ResultValue& ours) const {
    const auto index = static_cast<size_t>(id);
    const at::Tensor& plain = values_.plain[index];
    Wobble wobble;
    if (index < values_.in_double.size() && values_.in_double[index].defined()) {
      const at::Tensor& exact = values_.in_double[index];
      if (at::isFloatingType(plain.scalar_type())) {
        wobble.size = (plain.to(at::kDouble) - exact).abs().nan_to_num(0);
      } else {
        wobble.seen = {plain, exact};
      }
    }
    return compare_results(from_sample(ours.tensor), plain, wobble).ok;
  }

  const Trace& trace_;
  const EagerWobble::Values& values_;
  const ExportTrace& export_;
  const TemporaryFile file_;
  const Clock::time_point end_;
  std::vector<SampleTensor> inputs_;
  std::vector<size_t> last_use_;
};

}  // namespace

std::string Suspect::text() const {
  const std::string where = source.text();
  return where.empty() ? node : node + " at " + where;
}

Outcome<Suspect> find_first_difference(const Trace& trace, const std::vector<at::Tensor>& inputs,
                                       const EagerWobble::Values& values,
                                       const ExportTrace& export_trace, const std::string& path,
                                       double seconds) {
  auto found = Bisection(trace, inputs, values, export_trace, path, seconds).run();
  if (!found.ok()) return found.failure();
  const TraceNode& node = trace.nodes[*found];
  return Suspect{node.full_name(), node.source};
}

}  // namespace lazyrt
