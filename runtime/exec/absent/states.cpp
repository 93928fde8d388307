// Without states: instead of bundle/state_rules.cpp and exec/session_states.cpp.

#include "runtime/exec/absent/left_out.h"
#include "runtime/exec/session_states.h"

namespace lazyrt {

Fault check_states(MethodCheck* check) {
  if (count_of(check->method.states()) != 0) return left_out(check->ops, "states");
  for (size_t id = 0; id < check->values.size(); ++id) {
    if (check->values[id].kind == fb::ValueKind::State)
      return check->at_value(id,
                             bad_bundle("it is of kind State, but none of the method's states"));
  }
  return {};
}

SessionStates::SessionStates(const ProgramState& program, size_t method,
                             const BackendServices* services, Pool* pool)
    : program_(program), method_(program.method(method)), services_(services), pool_(pool) {}

Fault SessionStates::make() { return {}; }
Fault SessionStates::make_on_host() { return {}; }
void SessionStates::reset() {}
Fault SessionStates::make_in(int, CountedMemory*) { return {}; }
Fault SessionStates::check_index(size_t i) const {
  return Fault(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i, size_t{0});
}
Fault SessionStates::set(size_t i, const TensorView&) { return check_index(i); }
Result<TensorView> SessionStates::view(size_t i) { return check_index(i); }
Fault SessionStates::bring(size_t, int) { return {}; }
void SessionStates::forget_brought() {}
void SessionStates::changed(size_t, int) {}

}  // namespace lazyrt
