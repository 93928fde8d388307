#include "host_tracer/check/size_sweep.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "host_tracer/capture/capture.h"
#include "host_tracer/check/altered_inputs.h"
#include "host_tracer/check/bound.h"
#include "host_tracer/check/bundle_runner.h"
#include "host_tracer/check/eager_wobble.h"
#include "host_tracer/check/result_kinds.h"
#include "host_tracer/dynamic/sweep_points.h"
#include "host_tracer/sized_traces.h"

namespace lazyrt {
namespace {

/// How many times the bound a difference has to be for a suspicion: one evaluation of the program
/// does not show all that rounding does.
constexpr double kFar = 16;
constexpr int kPlaces = 8;  ///< by which the inputs of that evaluation differ

bool is_far(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble) {
  if (at::equal(ours, eager)) return false;  // most are, and the rest takes its time
  const Comparison comparison = compare_results(ours, eager, wobble);
  return !comparison.ok && comparison.of_bound > kFar;
}

class Sweep {
 public:
  Sweep(BundleRunner& runner, const Trace& sample, const SizeSweepOptions& options)
      : runner_(runner), sample_(sample), options_(options) {}

  /// Nothing: one of both does not take this size.
  std::optional<bool> parts_at(const SizePoint& point, const DynamicShapes& shapes) {
    const auto inputs = inputs_at(point, shapes, sample_);
    if (!inputs.ok()) return std::nullopt;
    const EagerRun eager = sample_.eager->call(*inputs, true);
    if (!eager.raised.empty()) return std::nullopt;
    const auto ours = runner_.run(*inputs, true);
    if (!ours.ok()) return std::nullopt;
    return far_apart(ours->outputs, eager, [&] {
      std::vector<SampleTensor> moved;
      for (const SampleTensor& input : *inputs)
        moved.push_back(to_sample(nudged(from_sample(input), kPlaces, options_.seed, false)));
      return sample_.eager->call(moved, true);
    });
  }

 private:
  BundleRunner& runner_;
  const Trace& sample_;
  const SizeSweepOptions& options_;
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
  const auto begin = std::chrono::steady_clock::now();
  NumberGroups numbers;
  if (sample.eager->numbers) numbers = sample.eager->numbers();
  const auto points = sweep_points(sizes.shapes, sizes.sample, numbers);
  const std::set<SizePoint> known(tried.begin(), tried.end());
  auto runner = BundleRunner::make(bundle.program());
  if (!runner.ok()) return runner.failure();
  Sweep sweep(**runner, sample, options);
  SizeSweep found;
  for (size_t i = 0; i < points.size() && found.parting.size() < options.most_parting; ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() > options.seconds) {
      found.left = points.size() - i;
      break;
    }
    if (options.progress) options.progress(i, points.size());
    if (known.count(points[i]) > 0) continue;
    const auto parts = sweep.parts_at(points[i], sizes.shapes);
    if (parts) (*parts ? found.parting : found.alike).push_back(points[i]);
  }
  return found;
}

}  // namespace lazyrt
