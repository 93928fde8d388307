#include "host_tracer/frontends/shared/copies.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <unordered_map>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

std::string without_overload(const std::string& op) { return op.substr(0, op.find('.')); }

/// aten::to keeps strides, unless it is given a memory format.
bool decides_by_strides(const std::vector<c10::IValue>& arguments, const at::Tensor& result) {
  const at::Tensor& operand = arguments.at(0).toTensor();
  const bool same_sizes = operand.sizes() == result.sizes();
  const bool is_to = arguments.size() > 2 && same_sizes;
  return !is_to || arguments.back().isInt();
}

}  // namespace

bool Copies::may_copy(const std::string& op) {
  static constexpr const char* kOps[] = {"aten::contiguous", "aten::reshape", "aten::reshape_as",
                                         "aten::flatten",    "aten::ravel",   "aten::to"};
  const std::string name = without_overload(op);
  return std::any_of(std::begin(kOps), std::end(kOps), [&](const char* k) { return name == k; });
}

bool Copies::call_as_view(const c10::OperatorName& op, Stack& stack) {
  static const std::unordered_map<std::string, const char*> views = {
      {"aten::unsafe_chunk", "aten::chunk"},
      {"aten::unsafe_split", "aten::split"},
      {"aten::unsafe_split_with_sizes", "aten::split_with_sizes"},
  };
  const auto found = views.find(op.name);
  if (found == views.end()) return false;
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(found->second, op.overload_name.c_str())
      .callBoxed(stack);
  return true;
}

void Copies::begin(at::Device device) {
  learns_ = device.is_cpu();
  calls_ = questions_ = 0;
  pairs_.clear();
  if (!learns_) return;
  earlier_ = std::move(kinds_);
  earlier_answers_ = std::move(answers_);
  kinds_.emplace();
  answers_.clear();
}

at::Tensor Copies::take(const Stack& arguments, const at::Tensor& result) {
  const at::Tensor& operand = arguments.at(0).toTensor();
  if (learns_) {
    const bool alias = result.is_alias_of(operand);
    const bool same = alias && result.sizes() == operand.sizes() &&
                      result.strides() == operand.strides() &&
                      result.scalar_type() == operand.scalar_type();
    kinds_->push_back(same ? Kind::kSame : alias ? Kind::kView : Kind::kCopy);
    return result;
  }
  const size_t call = calls_++;
  if (!operand.device().is_lazy() || !result.device().is_lazy()) return result;
  const bool alias = memory_of(operand) == memory_of(result);
  if (!kinds_) {
    pairs_.push_back({call, operand, result, writes_into(operand), writes_into(result),
                      decides_by_strides(arguments, result)});
    return result;
  }
  if (call >= kinds_->size()) return result;
  const Kind kind = (*kinds_)[call];
  if (kind == Kind::kCopy && alias) return result.clone();
  if (kind == Kind::kSame && !alias) return operand;
  return result;
}

c10::IValue Copies::told(const c10::IValue& own) {
  if (learns_) {
    answers_.push_back(own);
    return own;
  }
  const size_t question = questions_++;
  matter_ = matter_ || !kinds_;
  return kinds_ && question < answers_.size() ? answers_[question] : own;
}

void Copies::check_place(const at::Tensor& operand) {
  std::vector<int64_t> place = operand.strides().vec();
  place.push_back(operand.storage_offset());
  TORCH_CHECK(told(place).toIntVector() == place,
              "the program calls as_strided on a tensor that has gaps in memory, or is a part of "
              "another one: call it on its contiguous()");
}

void Copies::end() {
  if (learns_) compare_runs();
  for (const Pair& p : pairs_) {
    if (writes_into(p.operand) == p.operand_writes && writes_into(p.result) == p.result_writes) {
      continue;
    }
    written_.insert(p.call);
    matter_ = true;
    depend_on_strides_ = depend_on_strides_ || p.depends_on_strides;
  }
  pairs_.clear();
}

void Copies::compare_runs() {
  changed_ = false;
  if (!earlier_) return;
  for (const size_t call : written_) {
    const bool both = call < kinds_->size() && call < earlier_->size();
    changed_ = changed_ || (both && (*kinds_)[call] != (*earlier_)[call]);
  }
  const size_t questions = std::min(answers_.size(), earlier_answers_.size());
  for (size_t i = 0; i < questions; ++i) {
    changed_ = changed_ || !answers_[i].equals(earlier_answers_[i]).toBool();
  }
}

}  // namespace lazyrt
