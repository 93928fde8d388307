#include "host_tracer/record/run_log.h"

#include <ATen/ATen.h>

namespace lazyrt {
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

/// A value that is only looked at may differ: if the program's path depends on it, that becomes
/// visible.
std::vector<at::Tensor> RunLog::replay(const SyncRecord& first, const Compute& compute) {
  if (first.kind != SyncKind::kPeek) return first.given;
  try {
    return compute();
    // There is no inverse, or an index is out of range: this shows nothing.
  } catch (const c10::Error&) {
    return first.given;
  }
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
    record.given = replay(first, compute);
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
