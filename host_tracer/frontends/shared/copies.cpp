#include "host_tracer/frontends/shared/copies.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "host_tracer/capture/capture.h"

namespace lazyrt {

bool Copies::may_copy(const std::string& op) {
  static constexpr const char* kOps[] = {"aten::contiguous", "aten::reshape", "aten::reshape_as",
                                         "aten::flatten", "aten::ravel"};
  const std::string name = op.substr(0, op.find('.'));
  return std::any_of(std::begin(kOps), std::end(kOps), [&](const char* k) { return name == k; });
}

void Copies::begin(at::Device device) {
  learns_ = device.is_cpu();
  calls_ = 0;
  views_.clear();
  if (!learns_) return;
  copied_.emplace();
  matter_ = false;
}

at::Tensor Copies::take(const at::Tensor& operand, const at::Tensor& result) {
  if (learns_) {
    copied_->push_back(!result.is_alias_of(operand));
    return result;
  }
  const size_t call = calls_++;
  if (!operand.device().is_lazy() || memory_of(operand) != memory_of(result)) return result;
  if (copied_) return call < copied_->size() && (*copied_)[call] ? result.clone() : result;
  views_.push_back({operand, result, static_cast<uint32_t>(operand._version()),
                    static_cast<uint32_t>(result._version())});
  return result;
}

void Copies::end() {
  for (const View& v : views_) {
    matter_ = matter_ || v.operand._version() != v.operand_version ||
              v.result._version() != v.result_version;
  }
  views_.clear();
}

}  // namespace lazyrt
