#include "runtime/exec/output_bindings.h"

#include "runtime/core/profile.h"

namespace lazyrt {
namespace {

/// Ranks are spread like random numbers, so that the tree is flat whatever the order of addresses.
uint32_t rank_of(uint32_t i) {
  i *= 0x9E3779B1u;
  return (i ^ i >> 15) * 0x85EBCA6Bu;
}

}  // namespace

bool OutputBindings::touches(size_t i, const OutputBinding& bytes) const {
  const OutputBinding& binding = bindings_[i];
  if (kDevices && binding.space != bytes.space) return false;
  return binding.writable != 0 && bytes.writable != 0 &&
         lazyrt::overlap(binding.data, binding.writable, bytes.data, bytes.writable);
}

uint32_t* OutputBindings::side_of(uint32_t node, const OutputBinding& bytes) const {
  const OutputBinding& binding = bindings_[node];
  const bool is_left =
      kDevices && binding.space != bytes.space
          ? bytes.space < binding.space
          : reinterpret_cast<uintptr_t>(bytes.data) <= reinterpret_cast<uintptr_t>(binding.data);
  return is_left ? &links_[node].left : &links_[node].right;
}

/// Inserts the node below those of higher rank; the subtree there is split into what is before and
/// what is behind it.
void OutputBindings::add(uint32_t i) {
  uint32_t* at = &root_;
  while (*at != kNone && rank_of(*at) > rank_of(i)) at = side_of(*at, bindings_[i]);
  uint32_t rest = *at;
  *at = i;
  uint32_t* before = &links_[i].left;
  uint32_t* behind = &links_[i].right;
  while (rest != kNone) {
    uint32_t* side = side_of(rest, bindings_[i]);
    uint32_t*& end = side == &links_[rest].left ? behind : before;
    *end = rest;
    end = side;
    rest = *side;
  }
  *before = *behind = kNone;
}

/// Replaces the node by what was before and behind it, merged by rank.
void OutputBindings::remove(uint32_t i) {
  uint32_t* at = &root_;
  while (*at != i) at = side_of(*at, bindings_[i]);
  uint32_t before = links_[i].left, behind = links_[i].right;
  while (before != kNone && behind != kNone) {
    const bool is_before = rank_of(before) > rank_of(behind);
    *at = is_before ? before : behind;
    at = is_before ? &links_[before].right : &links_[behind].left;
    (is_before ? before : behind) = *at;
  }
  *at = before != kNone ? before : behind;
}

void OutputBindings::set(size_t i, const OutputBinding& binding) {
  OutputBinding& mine = bindings_[i];
  if (mine.writable != 0) remove(static_cast<uint32_t>(i));
  count_ += (binding.is_bound() ? 1 : 0);
  count_ -= (mine.is_bound() ? 1 : 0);
  mine = binding;
  if (mine.writable != 0) add(static_cast<uint32_t>(i));
  ++version_;
}

/// A binding that shares a byte is next to it in order, and so on its way down the tree.
bool OutputBindings::overlap(const OutputBinding& bytes) const {
  for (uint32_t at = root_; at != kNone; at = *side_of(at, bytes)) {
    if (touches(at, bytes)) return true;
  }
  return false;
}

/// Finds which output it is; only needed for the error message.
size_t OutputBindings::overlapped(const OutputBinding& binding) const {
  size_t k = overlap(binding) ? 0 : size();
  while (k < size() && !touches(k, binding)) ++k;
  return k;
}

}  // namespace lazyrt
