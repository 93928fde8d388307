#include "runtime/exec/session_states.h"

#include <cstring>

#include "runtime/exec/variant.h"

namespace lazyrt {

SessionStates::SessionStates(const ProgramState& program, size_t method)
    : program_(program), method_(program.method(method)) {
  for (size_t k = 0; k < count_of(method_.states()); ++k) {
    if (__builtin_add_overflow(bytes_, room_of(value(table(k).value()).bytes()), &bytes_))
      bytes_ = UINT64_MAX;
  }
}

Status SessionStates::make(const Allocator& allocator) {
  const size_t count = count_of(method_.states());
  if (count == 0 || is_made()) return {};
  LAZYRT_RETURN_IF_ERROR(block_.make(bytes_, kAlignment, allocator, "the states"));
  if (!places_.make(count, allocator)) return no_memory_for_session();
  uint8_t* next = block_.data();
  for (size_t k = 0; k < count; ++k) {
    places_[k] = next;
    next += room_of(value(table(k).value()).bytes());
  }
  return {};
}

void SessionStates::reset() {
  for (size_t k = 0; k < places_.size(); ++k) {
    const size_t bytes = value(table(k).value()).bytes();
    if (bytes == 0) continue;
    if (table(k).initial() < 0) {
      std::memset(places_[k], 0, bytes);
    } else {
      std::memcpy(places_[k], program_.constant(value(table(k).initial())), bytes);
    }
  }
}

Result<TensorView> SessionStates::view(size_t i) const {
  if (i >= places_.size()) {
    return Status(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i,
                  places_.size());
  }
  const TensorSpec spec = spec_of(value(table(i).value()));
  return TensorView{places_[i], spec.dtype, spec.shape};
}

}  // namespace lazyrt
