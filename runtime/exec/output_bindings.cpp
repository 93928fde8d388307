#include "runtime/exec/output_bindings.h"

namespace lazyrt {
namespace {

/// Spread like random numbers, so that the tree is flat whatever the order of binding.
uint32_t rank_of(uint32_t i) {
  i = (i ^ i >> 16) * 0x45D9F3Bu;
  i = (i ^ i >> 16) * 0x45D9F3Bu;
  return i ^ i >> 16;
}

}  // namespace

bool OutputBindings::is_before(uint32_t i, int space, const void* data) const {
  const OutputBinding& binding = bindings_[i];
  if (binding.space != space) return binding.space < space;
  return reinterpret_cast<uintptr_t>(binding.data) < reinterpret_cast<uintptr_t>(data);
}

/// Parts the tree into what begins before `data` and the rest.
void OutputBindings::split(int space, const void* data, uint32_t* before, uint32_t* rest) {
  uint32_t next = root_;
  while (next != kNone) {
    const bool goes_before = is_before(next, space, data);
    uint32_t** const end = goes_before ? &before : &rest;
    **end = next;
    *end = goes_before ? &links_[next].right : &links_[next].left;
    next = **end;
  }
  *before = *rest = kNone;
}

uint32_t OutputBindings::join(uint32_t before, uint32_t rest) {
  uint32_t joined = kNone;
  uint32_t* end = &joined;
  while (before != kNone && rest != kNone) {
    if (rank_of(before) > rank_of(rest)) {
      *end = before;
      end = &links_[before].right;
      before = *end;
    } else {
      *end = rest;
      end = &links_[rest].left;
      rest = *end;
    }
  }
  *end = before != kNone ? before : rest;
  return joined;
}

void OutputBindings::add(uint32_t i) {
  uint32_t before = kNone, rest = kNone;
  split(bindings_[i].space, bindings_[i].data, &before, &rest);
  links_[i] = Link();
  root_ = join(join(before, i), rest);
}

void OutputBindings::remove(uint32_t i) {
  uint32_t* at = &root_;
  while (*at != i) {
    Link& link = links_[*at];
    at = is_before(*at, bindings_[i].space, bindings_[i].data) ? &link.right : &link.left;
  }
  *at = join(links_[i].left, links_[i].right);
}

void OutputBindings::set(size_t i, const OutputBinding& binding) {
  const auto index = static_cast<uint32_t>(i);
  if (is_in_tree(i)) remove(index);
  count_ += (binding.is_bound() ? 1 : 0);
  count_ -= (bindings_[i].is_bound() ? 1 : 0);
  bindings_[i] = binding;
  if (is_in_tree(i)) add(index);
  ++version_;
}

/// By the neighbours: the last that begins before `data` and the first that does not.
bool OutputBindings::is_taken(int space, const void* data, size_t bytes) const {
  uint32_t before = kNone, next = kNone;
  for (uint32_t at = root_; at != kNone;) {
    const bool is_left = is_before(at, space, data);
    (is_left ? before : next) = at;
    at = is_left ? links_[at].right : links_[at].left;
  }
  for (const uint32_t neighbour : {before, next}) {
    if (neighbour == kNone || bindings_[neighbour].space != space) continue;
    const OutputBinding& binding = bindings_[neighbour];
    if (overlap(binding.data, binding.writable, data, bytes)) return true;
  }
  return false;
}

size_t OutputBindings::overlapped(size_t i, const OutputBinding& binding) {
  if (binding.writable == 0) return size();
  const bool was_in_tree = is_in_tree(i);
  if (was_in_tree) remove(static_cast<uint32_t>(i));
  const bool is_free = !is_taken(binding.space, binding.data, binding.writable);
  if (was_in_tree) add(static_cast<uint32_t>(i));
  if (is_free) return size();
  size_t k = 0;  // which one is looked for only when it ends in an error
  for (; k < size(); ++k) {
    const OutputBinding& other = bindings_[k];
    if (k != i && is_in_tree(k) && other.space == binding.space &&
        overlap(other.data, other.writable, binding.data, binding.writable)) {
      break;
    }
  }
  return k;
}

}  // namespace lazyrt
