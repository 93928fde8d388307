#include "host_tracer/frontends/shared/call_paths.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace lazyrt {
namespace {

constexpr int64_t kMostElements = 1 << 16;  ///< of a constant that is told apart by what it holds
constexpr double kRounding = 1e-9;

/// The run that this thread watches.
struct Watch {
  CallPath path;
  std::set<const void*> made;  ///< storages of inputs and results
};
thread_local Watch* watched = nullptr;

const void* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

GivenOperand of_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return {std::nullopt, "none", false};
  std::string text =
      std::string(c10::toString(tensor.scalar_type())) + " of rank " + std::to_string(tensor.dim());
  const void* storage = storage_of(tensor);
  const bool is_constant = storage != nullptr && watched->made.count(storage) == 0 &&
                           tensor.device().is_cpu() && tensor.numel() <= kMostElements &&
                           tensor.layout() == at::kStrided && !tensor.is_quantized();
  if (!is_constant) return {std::nullopt, text, false};
  for (const int64_t size : tensor.sizes()) text.append(",").append(std::to_string(size));
  text += ':';
  const at::DisableRecordFunctionGuard no_calls;
  const at::Tensor rows = tensor.resolve_conj().resolve_neg().contiguous();
  text.append(static_cast<const char*>(rows.const_data_ptr()), rows.nbytes());
  return {std::nullopt, text, true};
}

void add(const c10::IValue& value, std::vector<GivenOperand>* operands) {
  if (value.isTensor()) {
    operands->push_back(of_tensor(value.toTensor()));
  } else if (value.isBool()) {
    operands->push_back({std::nullopt, value.toBool() ? "true" : "false", false});
  } else if (value.isInt()) {
    operands->push_back({static_cast<double>(value.toInt()), "", false});
  } else if (value.isDouble()) {
    operands->push_back({value.toDouble(), "", false});
  } else if (value.isString()) {
    operands->push_back({std::nullopt, value.toStringRef(), false});
  } else if (value.isList()) {
    for (const auto& item : value.toListRef()) add(item, operands);
  }
}

void add_made(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    watched->made.insert(storage_of(value.toTensor()));
  } else if (value.isTensorList()) {
    for (const at::Tensor& item : value.toTensorVector()) watched->made.insert(storage_of(item));
  }
}

std::unique_ptr<at::ObserverContext> note_call(const at::RecordFunction& function) {
  watched->path.names.emplace_back(function.name());
  std::vector<GivenOperand> operands;
  for (const c10::IValue& input : function.inputs()) add(input, &operands);
  // A list of another length is another path.
  watched->path.names.back() += " of " + std::to_string(operands.size());
  auto& all = watched->path.operands;
  all.insert(all.end(), operands.begin(), operands.end());
  return nullptr;
}

void note_results(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  for (const c10::IValue& output : function.outputs()) add_made(output);
}

/// Sees what the thread calls while it lives.
class Watcher {
 public:
  explicit Watcher(Watch* watch) {
    watched = watch;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(note_call, note_results)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~Watcher() {
    at::removeCallback(handle_);
    watched = nullptr;
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  at::CallbackHandle handle_ = 0;
};

bool is_near(double a, double b) {
  return a == b || std::fabs(a - b) <= kRounding * std::fabs(b) || (std::isnan(a) && std::isnan(b));
}

bool same(const GivenOperand& a, const GivenOperand& b) {
  if (a.number && b.number) return is_near(*a.number, *b.number);
  return !a.number && !b.number && a.text == b.text;
}

/// Whether other sizes than those at both ends lie between them.
bool is_between(const std::vector<int64_t>& sizes, const std::vector<int64_t>& one,
                const std::vector<int64_t>& other) {
  if (sizes == one || sizes == other) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < std::min(one[i], other[i]) || sizes[i] > std::max(one[i], other[i]))
      return false;
  }
  return true;
}

std::string extents_of(const GivenOperand& content) {
  return content.text.substr(0, content.text.find(':'));
}

}  // namespace

CallPath watch_calls(const std::vector<at::Tensor>& inputs, const std::function<void()>& run) {
  Watch watch;
  for (const at::Tensor& input : inputs) watch.made.insert(storage_of(input));
  {
    const Watcher watcher(&watch);
    run();
  }
  return std::move(watch.path);
}

void CallPaths::learn(const std::vector<int64_t>& sizes, const CallPath& path) {
  known_[path.names].push_back({sizes, path.operands});
}

bool CallPaths::know(const std::vector<int64_t>& sizes, const CallPath& path) const {
  const auto known = known_.find(path.names);
  if (known == known_.end()) return false;
  for (size_t place = 0; place < path.operands.size(); ++place) {
    if (!expects(known->second, place, sizes, path.operands[place])) return false;
  }
  return true;
}

bool CallPaths::expects(const std::vector<Seen>& seen, size_t place,
                        const std::vector<int64_t>& sizes, const GivenOperand& operand) {
  std::map<std::vector<int64_t>, const GivenOperand*> at;
  bool any_same = false, all_numbers = operand.number.has_value(), any_of_extents = false;
  for (const Seen& one : seen) {
    const GivenOperand& other = one.operands[place];
    const auto [known, is_new] = at.emplace(one.sizes, &other);
    if (!is_new && !same(*known->second, other)) return true;  // it depends on values
    any_same = any_same || same(other, operand);
    all_numbers = all_numbers && other.number.has_value();
    any_of_extents = any_of_extents || (other.is_content && operand.is_content &&
                                        extents_of(other) == extents_of(operand));
  }
  if (operand.is_content && !any_of_extents) return true;  // a table of another size
  if (!all_numbers && !any_same) return false;
  std::vector<double> near;
  for (const auto& [one, value] : at) {
    const bool is_next = std::none_of(at.begin(), at.end(), [&, &one = one](const auto& other) {
      return is_between(other.first, sizes, one);
    });
    if (!is_next) continue;
    if (!all_numbers && same(*value, operand)) return true;
    if (all_numbers) near.push_back(*value->number);
  }
  if (!all_numbers) return false;
  const auto [low, high] = std::minmax_element(near.begin(), near.end());
  const double number = *operand.number;
  return is_near(number, *low) || is_near(number, *high) || (*low < number && number < *high);
}

}  // namespace lazyrt
