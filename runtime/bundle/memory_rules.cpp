// The memory plan: which values may share memory, and that all other values that live at the same
// time are apart.

#include <algorithm>
#include <cinttypes>

#include "runtime/bundle/method_check.h"
#include "runtime/bundle/skyline.h"
#include "runtime/core/sort.h"

namespace lazyrt {
namespace {

/// A range of the arena, from the node that makes it to the last use of any value that shares it.
struct Owned {
  size_t begin;
  size_t end;    ///< with the tail
  int32_t from;  ///< first and last node, + 1: 0 is before the run
  int32_t to;
  uint32_t value;
};

/// Whose memory a value is in.
struct MemoryShare {
  uint32_t root;     ///< the first of those that share it
  int32_t last_use;  ///< of a root: that of all that share its memory so far
};

class MemoryCheck {
 public:
  explicit MemoryCheck(MethodCheck* check) : c_(*check), memory_(&check->memory) {}

  Fault run() {
    LAZYRT_RETURN_IF_ERROR(check_unmade_aliases());
    shares_ = memory_->make<MemoryShare>(c_.values.size());
    if (memory_->is_short()) return no_memory_to_check();
    for (size_t id = 0; id < c_.values.size(); ++id)
      shares_[id] = {static_cast<uint32_t>(id), c_.values[id].last_use};
    for (int32_t node = 0; node < c_.node_count(); ++node) {
      LAZYRT_RETURN_IF_ERROR(c_.at_node(node, check_node(node)));
    }
    return check_apart();
  }

 private:
  const ValueFacts& facts(size_t id) const { return c_.values[id]; }

  /// Inputs, constants and states own their memory.
  Fault check_unmade_aliases() const {
    for (size_t id = 0; id < c_.values.size(); ++id) {
      if (facts(id).alias_of == -1) continue;
      if (facts(id).kind != fb::ValueKind::Arena)
        return c_.at_value(id, bad_bundle("no node makes it, it cannot be an alias"));
    }
    return {};
  }

  Fault check_node(int32_t index) {
    const auto outputs = outputs_of(c_.node(index));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto id = static_cast<size_t>(outputs[i]);
      if (facts(id).alias_of == -1) continue;
      LAZYRT_RETURN_IF_ERROR(
          check_alias(index, i, id).with_context("output %zu (value %zu)", i, id));
    }
    return {};
  }

  Fault check_alias(int32_t index, size_t output, size_t id) {
    const int32_t of = facts(id).alias_of;
    if (of < -1 || of >= static_cast<int32_t>(id))
      return bad_bundle("alias_of %d is not an earlier value", of);
    if (output != 0) return bad_bundle("only output 0 may share memory");
    const auto target = static_cast<size_t>(of);
    const fb::ValueKind kind = facts(target).kind;
    if (kind != fb::ValueKind::Arena && kind != fb::ValueKind::Input) {
      return bad_bundle("value %d is not in the arena", of);
    }
    if (facts(id).offset != facts(target).offset || facts(id).bytes != facts(target).bytes) {
      return bad_bundle("not at the offset and of the size of value %d, whose memory it shares",
                        of);
    }
    LAZYRT_RETURN_IF_ERROR(check_sharing(index, id, target));
    join(id, target);
    return {};
  }

  /// Allows a view of operand 0, or writing in place over an operand that nothing reads any more.
  Fault check_sharing(int32_t index, size_t id, size_t target) const {
    const fb::Node& node = c_.node(index);
    const OpDef& def = *c_.ops.find(attrs_of(node))->def;
    const auto inputs = inputs_of(node);
    if (def.is_view && !inputs.empty() && inputs[0] == static_cast<int32_t>(target)) return {};
    bool allowed = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      allowed = allowed || (def.may_overwrite(i) && inputs[i] == static_cast<int32_t>(target));
    }
    if (!allowed) return bad_bundle("this operator cannot write over value %zu", target);
    // f32[1] < f32[4] gives as many bytes, but is not written element by element.
    if (facts(id).spec.numel() != facts(target).spec.numel())
      return bad_bundle("it writes over value %zu of another number of elements", target);
    const size_t root = shares_[target].root;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool shares = inputs[i] >= 0 && shares_[static_cast<size_t>(inputs[i])].root == root;
      if (shares && !def.may_overwrite(i))
        return bad_bundle("it writes over value %zu, which it reads as input %zu", target, i);
    }
    if (facts(root).kind != fb::ValueKind::Arena) return bad_bundle("it would write over an input");
    if (shares_[root].last_use > index)
      return bad_bundle("it writes over value %zu, which is used later", target);
    return {};
  }

  void join(size_t id, size_t target) {
    const uint32_t root = shares_[target].root;
    shares_[id].root = root;
    shares_[root].last_use = std::max(shares_[root].last_use, facts(id).last_use);
  }

  bool in_arena(size_t id) const {
    const fb::ValueKind kind = facts(id).kind;
    return shares_[id].root == id && (kind == fb::ValueKind::Arena || kind == fb::ValueKind::Input);
  }

  /// Lists ranges in the order of their ids. REQUIRES: there is room for all values.
  Span<Owned> collect(Span<Owned> room) const {
    size_t count = 0;
    for (size_t id = 0; id < c_.values.size(); ++id) {
      if (!in_arena(id)) continue;
      const ValueFacts& f = facts(id);
      // The arena is known to be addressable.
      const auto begin = static_cast<size_t>(f.offset);
      const auto end = static_cast<size_t>(f.offset + f.bytes + kBundleTailBytes);
      room[count++] = {begin, end, f.made_at + 1, shares_[id].last_use + 1,
                       static_cast<uint32_t>(id)};
    }
    return {room.data(), count};
  }

  Fault overlap(Span<const Owned> owned, size_t later) const {
    const Owned& b = owned[later];
    size_t i = 0;
    while (i < later && !(owned[i].end > b.begin && owned[i].from <= b.to && owned[i].to >= b.from))
      ++i;
    return c_.at_value(b.value,
                       bad_bundle("it overlaps value %u in the arena while both are in use",
                                  static_cast<unsigned>(owned[i].value)));
  }

  Fault check_apart() const;

  const MethodCheck& c_;
  Pool* const memory_;
  Span<MemoryShare> shares_;  ///< per value
};

/// In the order of their begins, each range must begin above the ends of all ranges that are alive
/// at the same time as it.
Fault MemoryCheck::check_apart() const {
  const Span<Owned> room = memory_->make<Owned>(c_.values.size());
  Skyline<size_t> skyline;
  skyline.make(static_cast<size_t>(c_.node_count()) + 2, memory_);
  if (memory_->is_short()) return no_memory_to_check();
  const Span<Owned> owned = collect(room);
  sort(owned, [](const Owned& a, const Owned& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.value < b.value;
  });
  for (size_t i = 0; i < owned.size(); ++i) {
    const auto from = static_cast<size_t>(owned[i].from);
    const auto to = static_cast<size_t>(owned[i].to);
    if (skyline.highest(from, to) > owned[i].begin) return overlap(owned, i);
    skyline.raise(from, to, owned[i].end);
  }
  return {};
}

}  // namespace

Fault check_memory(MethodCheck* check) { return MemoryCheck(check).run(); }

Fault check_memory_limit(const MethodCheck& check, uint64_t limit) {
  limit = std::min<uint64_t>(memory_limit_of(limit), SIZE_MAX / 4);
  uint64_t bytes = check.method.arena_bytes();
  bool fits = bytes <= limit;
  for (const ValueFacts& value : check.values) {
    if (value.kind != fb::ValueKind::State) continue;
    bytes += room_of(value.bytes);  // both below 2^62
    fits = fits && bytes <= limit;
    if (!fits) break;
  }
  if (fits) return {};
  return Fault(Error::kOutOfMemory,
               "method '%.60s': its arena and states need %" PRIu64
               " bytes or more, memory_limit is %" PRIu64,
               check.name(), bytes, limit);
}

}  // namespace lazyrt
