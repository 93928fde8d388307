#include "host_tracer/capture/run_log.h"

#include <ATen/ATen.h>

#include <limits>

namespace lazyrt {
namespace {

at::Tensor filled(const at::Tensor& like, const at::Scalar& value) {
  return at::full(like.sizes(), value, like.options());
}

at::Tensor altered_bool(const at::Tensor& first, int level) {
  if (level == 0) return at::logical_not(first);
  if (level == 1) return filled(first, false);
  return level == 2 ? filled(first, true) : at::logical_not(first);
}

at::Tensor altered_integer(const at::Tensor& first, int level) {
  switch (level) {
    case 0:
      return first + 1;
    case 1:
      return at::where(first == 0, at::ones_like(first), at::zeros_like(first));
    case 2:
      return first * 1000 + 1000;
    default:
      return -first * 1000 - 1000;
  }
}

at::Tensor altered_float(const at::Tensor& first, int level) {
  const at::Tensor known = at::nan_to_num(first, 0.0, 1.0, -1.0);
  switch (level) {
    case 0:
      return -known - 1;
    case 1:
      return at::where(known == 0, at::ones_like(known), at::zeros_like(known));
    case 2:
      return known * 1e6 + 1e6;
    default:
      return known * -1e6 - 1e6;
  }
}

}  // namespace

at::Tensor altered(const at::Tensor& first, int level) {
  if (first.scalar_type() == at::kBool) return altered_bool(first, level);
  const bool floating = at::isFloatingType(first.scalar_type());
  const at::Tensor other = floating ? altered_float(first, level) : altered_integer(first, level);
  return other.to(first.scalar_type());
}

void RunLog::part() const {
  parted_ = true;
  TORCH_CHECK(false, "this run of the program is not the first one: it is given up");
}

void RunLog::call(uint64_t fingerprint) {
  if (parted_) part();
  const size_t i = calls_.size();
  if (script_ && (i >= script_->calls->size() || (*script_->calls)[i] != fingerprint)) part();
  calls_.push_back(fingerprint);
}

/// A value that cannot be computed from other inputs (no inverse, index out of range) tells nothing
/// of the program: the first run's goes on.
std::vector<at::Tensor> RunLog::answer(const SyncRecord& first, Answer answer,
                                       const Compute& compute) const {
  if (answer == Answer::kCompute) {
    try {
      return compute();
    } catch (const c10::Error&) {
      return first.given;
    }
  }
  std::vector<at::Tensor> given = first.given;
  if (answer == Answer::kAlter) {
    for (at::Tensor& t : given) t = altered(t, script_->level);
  }
  return given;
}

std::vector<at::Tensor> RunLog::sync(SyncRecord record, const Compute& compute) {
  if (parted_) part();
  const size_t i = syncs_.size();
  record.position = position();
  if (!script_) {
    record.given = compute();
  } else {
    if (i >= script_->syncs->size()) part();
    const SyncRecord& first = (*script_->syncs)[i];
    if (first.what != record.what || first.position != record.position) part();
    record.given = answer(first, script_->answers[i], compute);
  }
  std::vector<at::Tensor> copies;
  for (at::Tensor& t : record.given) {
    t = t.clone();
    copies.push_back(t.clone());
  }
  syncs_.push_back(std::move(record));
  return copies;
}

void RunLog::end() const {
  if (parted_) part();
  if (!script_) return;
  if (calls_.size() != script_->calls->size() || syncs_.size() != script_->syncs->size()) part();
}

}  // namespace lazyrt
