// Replaces bundle/state_rules.cpp and exec/state_memory.cpp in a build without states.

#include "runtime/exec/absent/left_out.h"
#include "runtime/exec/state_memory.h"

namespace lazyrt {

Fault check_states(MethodCheck* check) {
  if (count_of(check->method.states()) != 0) return left_out(check->ops, "states");
  for (size_t id = 0; id < check->values.size(); ++id) {
    if (check->values[id].kind == fb::ValueKind::State)
      return check->at_value(id,
                             bad_bundle("it is of kind State, but not one of the method's states"));
  }
  return {};
}

StateMemory::StateMemory(const ProgramState& program, size_t method,
                         const BackendServices* services, Pool* pool)
    : program_(program), method_(program.method(method)), services_(services), pool_(pool) {}

Fault StateMemory::make() { return {}; }
Fault StateMemory::make_on_host() { return {}; }
void StateMemory::reset() {}
Fault StateMemory::make_in(int, CountedMemory*) { return {}; }
Fault StateMemory::check_index(size_t i) const {
  return Fault(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i, size_t{0});
}
Fault StateMemory::set(size_t i, const TensorView&) { return check_index(i); }
Result<TensorView> StateMemory::view(size_t i) { return check_index(i); }
Fault StateMemory::bring(size_t, int) { return {}; }
void StateMemory::forget_brought() {}
void StateMemory::changed(size_t, int) {}

}  // namespace lazyrt
