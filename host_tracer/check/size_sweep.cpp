#include "host_tracer/check/size_sweep.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <set>

#include "host_tracer/check/altered_inputs.h"
#include "host_tracer/check/bound.h"
#include "host_tracer/check/bundle_runner.h"
#include "host_tracer/check/eager_wobble.h"
#include "host_tracer/check/result_kinds.h"
#include "host_tracer/compile/sized_traces.h"
#include "host_tracer/dynamic/sweep_points.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/record/perturb.h"

namespace lazyrt {
namespace {

/// By how many times the bound a difference has to exceed it for a suspicion: one evaluation of the
/// program does not show all effects of rounding.
constexpr double kFar = 16;
constexpr int kPlaces = 8;  ///< last places by which the inputs of that evaluation differ
/// At every such point, inputs with larger numbers are tried as well.
constexpr size_t kWithLargerNumbers = 4;

bool is_far(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble) {
  if (at::equal(ours, eager)) return false;  // most are equal, and the comparison below is slow
  const Comparison comparison = compare_results(ours, eager, wobble);
  return !comparison.ok && comparison.of_bound > kFar;
}

using Inputs = std::vector<SampleTensor>;

class Sweep {
 public:
  Sweep(BundleRunner& runner, const Trace& sample, const SizeSweepOptions& options)
      : runner_(runner), sample_(sample), program_(*sample.eager), options_(options) {
    find_larger_numbers();
  }

  size_t calls() const { return calls_; }

  /// Whether the results are far apart at this point; nothing if the bundle or the program does not
  /// take this size.
  std::optional<bool> parts_at(const SizePoint& point, const DynamicShapes& shapes) {
    const auto row = row_at(point, shapes);
    if (!row) return std::nullopt;
    for (size_t i = 0; i < row->size(); ++i) {
      const EagerRun eager = call((*row)[i], i == 0);
      if (!eager.raised.empty()) return i == 0 ? std::nullopt : std::optional(false);
      const auto ours = runner_.run((*row)[i], i == 0);
      if (!ours.ok()) return i == 0 ? std::nullopt : std::optional(false);
      bool moved = false;
      const bool parts = far_apart(ours->outputs, eager, [&] {
        moved = true;
        return moved_run(*row, i);
      });
      if (parts || moved) return parts;
    }
    return false;
  }

 private:
  EagerRun call(const Inputs& inputs, bool reset) {
    ++calls_;
    return program_.call(inputs, reset);
  }

  std::optional<std::vector<Inputs>> row_at(const SizePoint& point, const DynamicShapes& shapes) {
    auto inputs = inputs_at(point, shapes, sample_);
    if (!inputs.ok()) return std::nullopt;
    std::vector<Inputs> row = {*inputs};
    if (larger_ && points_++ % kWithLargerNumbers == 0) row.push_back(larger(*inputs));
    if (!sample_.states.empty()) row.push_back(std::move(*inputs));
    return row;
  }

  Inputs larger(const Inputs& inputs) const {
    Inputs made;
    for (const SampleTensor& input : inputs)
      made.push_back(to_sample(enlarged(from_sample(input), *larger_)));
    return made;
  }

  /// Finds the largest numbers that the program takes at the sample's sizes.
  void find_larger_numbers() {
    constexpr Enlargement kWays[] = {{30, 7.5, 7, 5}, {30, 7.5, 3, 1}, {30, 7.5, 1, 0}};
    for (const Enlargement& way : kWays) {
      larger_ = way;
      if (call(larger(sample_.sample_inputs), true).raised.empty()) return;
    }
    larger_.reset();
  }

  /// Calls the program at position `last` of a row, with inputs that differ in the last places.
  EagerRun moved_run(const std::vector<Inputs>& row, size_t last) {
    EagerRun run;
    for (size_t i = 0; i <= last; ++i) {
      Inputs moved;
      for (const SampleTensor& input : row[i])
        moved.push_back(to_sample(nudged(from_sample(input), kPlaces, options_.seed, false)));
      run = call(moved, i == 0);
    }
    return run;
  }

  BundleRunner& runner_;
  const Trace& sample_;
  const EagerReference& program_;
  const SizeSweepOptions& options_;
  std::optional<Enlargement> larger_;
  size_t points_ = 0, calls_ = 0;
};

}  // namespace

bool far_apart(const std::vector<ResultValue>& ours, const EagerRun& eager,
               const std::function<EagerRun()>& moved) {
  if (!eager.other_structure.empty() || ours.size() != eager.outputs.size()) return true;
  std::optional<EagerRun> other;
  for (size_t i = 0; i < ours.size(); ++i) {
    const ResultValue wanted = in_kind_of(ours[i], eager.outputs[i]);
    if (!other_kind(ours[i], wanted).empty()) return true;
    if (!is_tensor(ours[i])) continue;
    const at::Tensor x = from_sample(ours[i].tensor), y = from_sample(wanted.tensor);
    if (!is_far(x, y, {})) continue;
    if (!other) other = moved();
    if (other->outputs.size() != ours.size()) return false;  // the program itself goes elsewhere
    const ResultValue also = in_kind_of(ours[i], other->outputs[i]);
    if (!other_kind(ours[i], also).empty()) return false;
    Wobble wobble;
    learn_from(y, y, kPlaces, wobble);
    learn_from(y, from_sample(also.tensor), kPlaces, wobble);
    wobble.whole = false;
    if (is_far(x, y, wobble)) return true;
  }
  return false;
}

Outcome<SizeSweep> sweep_sizes(const LoadedBundle& bundle, const Trace& sample,
                               const DynamicExport& sizes, const std::vector<SizePoint>& tried,
                               const SizeSweepOptions& options) {
  const at::NoGradGuard no_grad;
  NumberGroups numbers;
  if (sample.eager->numbers) numbers = sample.eager->numbers();
  const auto points =
      sweep_points(sizes.shapes, sizes.sample, numbers, options.calls + tried.size());
  const std::set<SizePoint> known(tried.begin(), tried.end());
  auto runner = BundleRunner::make(bundle.program());
  if (!runner.ok()) return runner.failure();
  Sweep sweep(**runner, sample, options);
  SizeSweep found;
  for (size_t i = 0; i < points.size() && sweep.calls() < options.calls; ++i) {
    if (found.parting.size() == options.most_parting) break;
    if (options.progress) options.progress(i, points.size());
    if (known.count(points[i]) > 0) continue;
    const auto parts = sweep.parts_at(points[i], sizes.shapes);
    if (parts) (*parts ? found.parting : found.alike).push_back(points[i]);
  }
  return found;
}

}  // namespace lazyrt
