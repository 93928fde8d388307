#include "runtime/exec/watcher.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/core/sort.h"
#include "runtime/exec/device_memory.h"

namespace lazyrt {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

/// REQUIRES: is_number.
bool equals_number(std::string_view text, size_t number) {
  size_t value = 0;
  for (const char digit : text) {
    if (value > SIZE_MAX / 16) return false;
    value = value * 10 + static_cast<size_t>(digit - '0');
  }
  return value == number;
}

bool is_within(std::string_view path, std::string_view module) {
  if (module.empty() || path.substr(0, module.size()) != module) return false;
  return path.size() == module.size() || path[module.size()] == '.';
}

/// Takes "/" and such from the front of *text. False: it begins with something else.
bool skip(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

/// Takes `mark` and a number from the front of *text; both may be absent if `number` is 0.
bool skip_number(std::string_view* text, std::string_view mark, size_t number) {
  std::string_view rest = *text;
  if (!skip(&rest, mark)) return number == 0;
  const size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
  if (digits == 0 || !equals_number(rest.substr(0, digits), number)) return number == 0;
  *text = rest.substr(digits);
  return true;
}

/// Compares `name` with the name that tap_name gives, without making its text.
bool is_named(const TapPoint& point, std::string_view name) {
  const std::string_view path = point.module_path;
  if (!path.empty() && (!skip(&name, path) || !skip(&name, "/"))) return false;
  return skip(&name, point.op) && skip_number(&name, "_", point.repeat) &&
         skip_number(&name, ":", point.result) && name.empty();
}

}  // namespace

/// The hook may call anything.
Fault WatchedSpan::tell(Fault fault) {
  FirstFault first;
  first.add(fault);
  span_.end = platform_ticks();
  span_.ok = fault.ok();
  watch_->span(watch_->context, span_);
  return first;
}

size_t tap_name(const TapPoint& point, char* text, size_t room) {
  char repeat[24] = "", result[24] = "";
  if (point.repeat != 0) snprintf(repeat, sizeof(repeat), "_%zu", point.repeat);
  if (point.result != 0) snprintf(result, sizeof(result), ":%zu", point.result);
  const char* slash = point.module_path[0] == '\0' ? "" : "/";
  const int length =
      snprintf(text, room, "%s%s%s%s%s", point.module_path, slash, point.op, repeat, result);
  return static_cast<size_t>(length);
}

bool tap_matches(const TapPoint& point, std::string_view selector) {
  const size_t at = selector.find('@');
  if (at != std::string_view::npos && is_number(selector.substr(0, at))) {
    if (!equals_number(selector.substr(0, at), point.variant)) return false;
    selector.remove_prefix(at + 1);
  }
  if (selector == "*") return true;
  if (is_number(selector)) return equals_number(selector, point.node);
  if (!selector.empty() && selector[0] == '%' && is_number(selector.substr(1)))
    return equals_number(selector.substr(1), point.value);
  return is_within(point.module_path, selector) || is_named(point, selector);
}

TapPoint Watcher::point_of(const Tap& tap) const {
  const fb::Node& node = node_at(*texts_, tap.node);
  TapPoint point;
  point.variant = variant_;
  point.node = tap.node;
  point.result = tap.result;
  point.value = tap.value;
  point.repeat = tap.repeat;
  point.op = ops_->find(attrs_of(node))->name;
  if (node.source() < 0) return point;
  const auto source = static_cast<uint32_t>(node.source());
  point.module_path = text_of(source_at(*texts_, source).module_path());
  return point;
}

/// Sets (*modules)[s] to a number for the module path of source s, equal for equal paths; the last
/// entry is for nodes without a source. So paths are compared once per source, not once per node.
bool Watcher::number_modules(Pool* memory, Span<uint32_t>* modules) const {
  const size_t sources = count_of(texts_->sources());
  const auto order = memory->make<uint32_t>(sources + 1);
  *modules = memory->make<uint32_t>(sources + 1);
  if (memory->is_short()) return false;
  const auto path = [&](uint32_t source) {
    return source == sources ? "" : text_of(source_at(*texts_, source).module_path());
  };
  for (uint32_t s = 0; s <= sources; ++s) order[s] = s;
  sort(order, [&](uint32_t a, uint32_t b) { return std::strcmp(path(a), path(b)) < 0; });
  for (size_t i = 1; i <= sources; ++i) {
    const bool same = std::strcmp(path(order[i - 1]), path(order[i])) == 0;
    (*modules)[order[i]] = (*modules)[order[i - 1]] + (same ? 0 : 1);
  }
  return true;
}

/// Sets (*repeats)[n] to the number of nodes before n with the same operator and module.
Fault Watcher::count_repeats(Pool* memory, Span<uint32_t>* repeats) const {
  struct Key {
    const char* op;
    uint32_t module;
    uint32_t node;
  };
  const auto compare = [](const Key& a, const Key& b) {
    if (a.module != b.module) return a.module < b.module ? -1 : 1;
    return std::strcmp(a.op, b.op);
  };
  const size_t nodes = count_of(texts_->nodes());
  Span<uint32_t> modules;
  const auto keys = memory->make<Key>(nodes);
  *repeats = memory->make<uint32_t>(nodes);
  if (memory->is_short() || !number_modules(memory, &modules))
    return Fault(Error::kOutOfMemory, "no memory for the names of taps");
  for (uint32_t n = 0; n < nodes; ++n) {
    const fb::Node& node = node_at(*texts_, n);
    const size_t source =
        node.source() < 0 ? modules.size() - 1 : static_cast<size_t>(node.source());
    keys[n] = {ops_->find(attrs_of(node))->name, modules[source], n};
  }
  sort(keys, [&](const Key& a, const Key& b) {
    const int names = compare(a, b);
    return names != 0 ? names < 0 : a.node < b.node;
  });
  for (size_t i = 1; i < nodes; ++i) {
    if (compare(keys[i], keys[i - 1]) == 0)
      (*repeats)[keys[i].node] = (*repeats)[keys[i - 1].node] + 1;
  }
  return {};
}

/// Calls fn(tap, point) with each result of each node, in order.
template <class Fn>
Fault Watcher::for_each_point(Pool* memory, const Fn& fn) const {
  Span<uint32_t> repeats;
  LAZYRT_RETURN_IF_ERROR(count_repeats(memory, &repeats));
  for (uint32_t n = 0; n < repeats.size(); ++n) {
    const Span<const int32_t> results = outputs_of(node_at(*texts_, n));
    Tap tap;
    tap.node = n;
    tap.repeat = repeats[n];
    for (uint32_t r = 0; r < results.size(); ++r) {
      if (results[r] < 0) continue;
      tap.result = r;
      tap.value = static_cast<uint32_t>(results[r]);
      fn(tap, point_of(tap));
    }
  }
  return {};
}

Fault Watcher::make(const Watch* watch, size_t variant, const fb::Method& texts, const OpTable& ops,
                    Pool* pool) {
  watch_ = watch;
  variant_ = variant;
  texts_ = &texts;
  ops_ = &ops;
  pool_ = pool;
  if (watch->take == nullptr) return {};
  size_t results = 0;
  for (uint32_t n = 0; n < count_of(texts.nodes()); ++n)
    results += outputs_of(node_at(texts, n)).size();
  Pool scratch(pool->allocator());
  const auto wanted = scratch.make<Tap>(results);
  if (scratch.is_short()) return Fault(Error::kOutOfMemory, "no memory for taps");
  size_t count = 0;
  LAZYRT_RETURN_IF_ERROR(for_each_point(&scratch, [&](const Tap& tap, const TapPoint& point) {
    if (watch->wants == nullptr || watch->wants(watch->context, point)) wanted[count++] = tap;
  }));
  if (count == 0) return {};
  points_ = pool->make<Tap>(count);
  tapped_ = pool->make<bool>(count_of(texts.nodes()));
  if (pool->is_short()) return Fault(Error::kOutOfMemory, "no memory for taps");
  std::copy_n(wanted.data(), count, points_.data());
  for (const Tap& tap : points_) tapped_[tap.node] = true;
  return {};
}

Fault Watcher::make_copies(const Plan& plan, Span<const TensorView> operands) {
  size_t most = 0;
  for (const Tap& tap : points_) {
    const PlannedNode& node = plan.nodes()[tap.node];
    if (node.space == kHostSpace) continue;
    const TensorView& view = operands[node.first_operand + node.input_count + tap.result];
    most = std::max(most, view.bytes());
  }
  copy_ = pool_->make<uint8_t>(most);
  if (!pool_->is_short()) return {};
  return Fault(Error::kOutOfMemory, "no memory for %zu bytes of a tapped value", most);
}

Fault Watcher::take(const Plan& plan, size_t node, Span<const TensorView> operands,
                    const BackendServices::Slot* slot) const {
  const PlannedNode& planned = plan.nodes()[node];
  const Tap* tap = std::lower_bound(points_.begin(), points_.end(), node,
                                    [](const Tap& t, size_t n) { return t.node < n; });
  for (; tap != points_.end() && tap->node == node; ++tap) {
    TensorView view = operands[planned.first_operand + planned.input_count + tap->result];
    if (slot != nullptr) {
      uint8_t* copy = const_cast<uint8_t*>(copy_.data());
      LAZYRT_RETURN_IF_ERROR(copy_out_now(*slot, copy, view.data, view.bytes()));
      view.data = copy;
    }
    watch_->take(watch_->context, point_of(*tap), view);
  }
  return {};
}

}  // namespace lazyrt
