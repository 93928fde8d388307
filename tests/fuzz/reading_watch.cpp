#include "tests/fuzz/reading_watch.h"

#include <cstdlib>

#include "tests/fuzz/api_walk.h"

namespace lazyrt::fuzz {
namespace {

bool is_as_in(const fb::MethodT& method, const TapPoint& point, const TensorView& view) {
  if (point.variant > method.variants.size()) return false;
  const fb::MethodT& m = point.variant == 0 ? method : *method.variants[point.variant - 1];
  if (point.value >= m.values.size()) return false;
  const fb::ValueT& value = *m.values[point.value];
  return static_cast<DType>(value.dtype) == view.dtype && value.shape.size() == view.shape.size();
}

void take(void* context, const TapPoint& point, const TensorView& view) {
  char name[64];
  if (tap_name(point, name, sizeof(name)) == 0 || !tap_matches(point, "*")) std::abort();
  read_all(view);
  auto& check = *static_cast<TapCheck*>(context);
  ++check.taken;
  if (check.method != nullptr && !is_as_in(*check.method, point, view)) check.is_as_in_file = false;
}

void end_span(void*, const RunSpan& span) {
  if (span.end < span.begin) std::abort();
  if (span.node != nullptr) read_texts(*span.node);
}

}  // namespace

Watch reading_watch(TapCheck* check) { return {check, nullptr, &take, &end_span}; }

}  // namespace lazyrt::fuzz
