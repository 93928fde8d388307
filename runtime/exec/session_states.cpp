#include "runtime/exec/session_states.h"

#include <cstring>

#include "runtime/exec/variant.h"

namespace lazyrt {

SessionStates::SessionStates(const ProgramState& program, size_t method)
    : program_(program), method_(program.method(method)) {
  for (size_t k = 0; k < count_of(method_.states()); ++k) {
    if (__builtin_add_overflow(bytes_, room_of(value(state(k).value()).bytes()), &bytes_))
      bytes_ = UINT64_MAX;
  }
}

Status SessionStates::make(const Allocator& allocator) {
  const size_t count = count_of(method_.states());
  if (count == 0 || is_made()) return {};
  LAZYRT_RETURN_IF_ERROR(block_.make(bytes_, kAlignment, allocator, "the states"));
  if (!tables_.make(count, allocator) || !places_.make(count, allocator))
    return no_memory_for_session();
  uint8_t* next = block_.data();
  for (size_t k = 0; k < count; ++k) {
    const TensorSpec spec = spec_of(value(state(k).value()));
    const int32_t initial = state(k).initial();
    places_[k] = next;
    tables_[k] = {{next, spec.dtype, spec.shape},
                  initial < 0 ? nullptr : program_.constant(value(initial))};
    next += room_of(spec.bytes());
  }
  return {};
}

void SessionStates::reset() {
  for (const Table& table : tables_) {
    const size_t bytes = table.view.bytes();
    if (bytes == 0) continue;
    if (table.initial == nullptr) {
      std::memset(table.view.data, 0, bytes);
    } else {
      std::memcpy(table.view.data, table.initial, bytes);
    }
  }
}

Result<TensorView> SessionStates::view(size_t i) const {
  if (i >= places_.size()) {
    return Status(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i,
                  places_.size());
  }
  return tables_[i].view;
}

}  // namespace lazyrt
