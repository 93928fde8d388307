#include "host_tracer/check/eager_wobble.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "host_tracer/check/altered_inputs.h"
#include "host_tracer/check/rounding_model.h"

namespace lazyrt {
namespace {

/// The evaluations in order, one for each call of learn: a pair of nudges, then these two, then
/// further pairs.
constexpr int kFlushed = 2, kInDouble = 3, kNudges = 10, kStages = kNudges + 2;
/// This many if decisions were seen to change: each of n equal numbers wins in one of n
/// evaluations.
constexpr int kStagesOfDecisions = 8 * kStages;
constexpr int kNoNudge = -1;
/// For these two pairs all values are kept.
constexpr int kNudgesOfValues = 4;

bool is_floating(const at::Tensor& t) { return at::isFloatingType(t.scalar_type()); }

/// |a - b| in float64; 0 where both are NaN or the same infinity.
at::Tensor distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  const at::Tensor same = at::logical_or(x == y, at::logical_and(at::isnan(x), at::isnan(y)));
  return (x - y).abs().masked_fill(same, 0);
}

/// If no input is floating, the parameters are nudged instead.
bool nudges_parameters(const std::vector<CheckedCall>& calls) {
  const auto& inputs = calls.back().inputs;
  return std::none_of(inputs.begin(), inputs.end(), is_floating);
}

/// By how many last places a nudge moves the inputs: every other pair shows what decisions do if
/// rounding is half as large as the bound allows.
int places_of(int nudge) { return nudge / 2 % 2 == 1 ? kOfWobble / 2 : 1; }

/// While one lives, the processor takes subnormal numbers for 0, as XNNPACK does.
class FlushedSubnormals {
 public:
  FlushedSubnormals() : were_flushed_(flushes()) { set(true); }
  ~FlushedSubnormals() { set(were_flushed_); }
  FlushedSubnormals(const FlushedSubnormals&) = delete;
  FlushedSubnormals& operator=(const FlushedSubnormals&) = delete;

 private:
  static bool flushes() {
    const volatile float subnormal = 1e-39f;
    return subnormal * 1.0f == 0.0f;
  }
  static void set(bool flush) {
    at::globalContext().setFlushDenormal(flush);
    at::parallel_for(0, at::get_num_threads(), 1,
                     [flush](int64_t, int64_t) { at::globalContext().setFlushDenormal(flush); });
  }

  const bool were_flushed_;
};

}  // namespace

void learn_from(const at::Tensor& plain, const at::Tensor& other, int places, Wobble& wobble) {
  if (!plain.defined() || !other.defined() || plain.sizes() != other.sizes()) return;
  if (!is_floating(plain)) {
    wobble.seen.push_back(other);
    return;
  }
  const at::Tensor moved = distance(plain, other) / places;
  wobble.size = wobble.size.defined() ? at::fmax(wobble.size, moved) : moved;
  wobble.seen.push_back(other.to(at::kDouble));
}

EagerWobble::EagerWobble(const std::vector<TraceGroup>& groups, std::vector<CheckedCall> calls,
                         uint64_t seed)
    : groups_(groups), calls_(std::move(calls)), seed_(seed) {}

Outcome<TraceRun> EagerWobble::evaluate(const TraceEvalOptions& given, int nudge,
                                        std::vector<at::Tensor>* states_before) const {
  TraceEvalOptions options = given;
  const uint64_t seed = seed_ + static_cast<uint64_t>(nudge / 2) * 7919;
  const bool mirrored = nudge % 2 == 1;
  const int places = places_of(nudge);
  if (nudge != kNoNudge && nudges_parameters(calls_)) {
    options.change_leaf = [=](const at::Tensor& t) { return nudged(t, places, seed, mirrored); };
  }
  TraceRun run;
  for (const CheckedCall& call : calls_) {
    std::vector<at::Tensor> inputs;
    for (const at::Tensor& input : call.inputs) {
      at::Tensor t = nudge == kNoNudge ? input : nudged(input, places, seed, mirrored);
      if (options.in_double && is_floating(t)) t = t.to(at::kDouble);
      inputs.push_back(std::move(t));
    }
    const Trace& trace = groups_[call.variant].trace;
    const RoundingModel model(trace, places, seed, mirrored);
    if (nudge != kNoNudge) {
      options.change_operand = std::bind_front(&RoundingModel::operand, &model);
      options.change_result = std::bind_front(&RoundingModel::result, &model);
    }
    const bool last = &call == &calls_.back();
    options.keep_values = given.keep_values && last;
    if (last && states_before) *states_before = run.states;
    auto next = run_trace(trace, inputs, run.states, options);
    if (!next.ok()) return next.failure();
    run = std::move(*next);
  }
  return run;
}

Outcome<TraceRun> EagerWobble::evaluate_flushed(const TraceEvalOptions& options) const {
  const FlushedSubnormals flushed;
  return evaluate(options, kNoNudge);
}

void EagerWobble::add(const TraceRun& run, int places) {
  for (size_t i = 0; i < plain_.size() && i < run.outputs.size(); ++i) {
    learn_from(plain_[i], run.outputs[i], places, wobbles_[i]);
  }
}

bool EagerWobble::start() {
  auto plain = evaluate({}, kNoNudge);
  if (!plain.ok()) {
    notes_.push_back("the trace could not be evaluated by ATen: " + plain.failure().text);
    return false;
  }
  plain_ = plain->outputs;
  wobbles_.resize(plain_.size());
  add(*plain);
  return true;
}

void EagerWobble::learn_nudged(int nudge) {
  const auto run = evaluate({}, nudge);
  if (run.ok()) add(*run, places_of(nudge));
}

void EagerWobble::learn_in_double() {
  TraceEvalOptions in_double;
  in_double.in_double = true;
  const auto exact = evaluate(in_double, kNoNudge);
  if (exact.ok()) {
    add(*exact);
  } else {
    notes_.push_back(
        "not evaluated in float64, so rounding is estimated from last-place changes alone: " +
        exact.failure().text);
  }
}

bool EagerWobble::decisions_change() const {
  for (size_t i = 0; i < wobbles_.size(); ++i) {
    if (!plain_[i].defined() || is_floating(plain_[i])) continue;
    for (const at::Tensor& seen : wobbles_[i].seen) {
      if (!at::equal(seen, plain_[i])) return true;
    }
  }
  return false;
}

bool EagerWobble::learn() {
  if (stage_ == kStagesOfDecisions) return false;
  if (stage_ == kStages && !decisions_change()) return false;
  if (stage_ == 0 && !start()) {
    stage_ = kStagesOfDecisions;
    return false;
  }
  if (stage_ == kFlushed) {
    if (const auto flushed = evaluate_flushed(); flushed.ok()) add(*flushed);
  } else if (stage_ == kInDouble) {
    learn_in_double();
  } else {
    learn_nudged(stage_ < kFlushed ? stage_ : stage_ - 2);
  }
  ++stage_;
  return true;
}

Wobble EagerWobble::of(size_t output) const {
  if (output >= wobbles_.size()) return {};
  Wobble wobble = wobbles_[output];
  wobble.whole = stage_ > kInDouble && stage_ % 2 == 0;
  return wobble;
}

at::Tensor EagerWobble::plain(size_t output) const {
  return output < plain_.size() ? plain_[output] : at::Tensor();
}

Outcome<EagerWobble::Values> EagerWobble::values() const {
  Values values;
  TraceEvalOptions options;
  options.keep_values = true;
  auto plain = evaluate(options, kNoNudge, &values.states);
  if (!plain.ok()) return plain.failure();
  values.plain = std::move(plain->values);
  options.in_double = true;
  auto exact = evaluate(options, kNoNudge);
  if (exact.ok()) values.in_double = std::move(exact->values);
  return values;
}

std::vector<EagerWobble::MovedValues> EagerWobble::moved_values() const {
  std::vector<MovedValues> all;
  const auto keep = [&](Outcome<TraceRun> run, int places) {
    if (run.ok()) all.push_back({std::move(run->values), places});
  };
  TraceEvalOptions options;
  options.keep_values = true;
  for (int nudge = 0; nudge < kNudgesOfValues; ++nudge)
    keep(evaluate(options, nudge), places_of(nudge));
  keep(evaluate_flushed(options), 1);
  options.in_double = true;
  keep(evaluate(options, kNoNudge), 1);
  return all;
}

}  // namespace lazyrt
