#include "tests/support/fault_walk.h"

#include "tests/support/branching_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt::test {
namespace {

TensorView view(const void* data, DType dtype, Shape shape) {
  return {const_cast<void*>(data), dtype, shape};
}

void add_mixed(WalkScript* script, int64_t batch, int64_t height, int64_t width) {
  const auto image = random_floats(static_cast<size_t>(batch * height * width * 3), 5);
  const int64_t ids[5] = {1, 9, 0, 3, 3};
  script->add_run({view(image.data(), DType::kFloat32, {batch, height, width, 3}),
                   view(ids, DType::kInt64, {1, 5})});
}

}  // namespace

WalkScript walk_script(int which, const OpTable& ops) {
  WalkScript script;
  script.ops = &ops;
  if (which == 0) {
    script.file = write_bundle(mixed_bundle(ops));
    add_mixed(&script, 1, 12, 12);
  } else if (which == 1) {
    script.file = write_bundle(sized_mixed_bundle(ops));
    add_mixed(&script, 1, 12, 12);
    add_mixed(&script, 2, 16, 8);
  } else {
    script.file = write_bundle(branching_bundle());
    const float small[2] = {3, -4};
    script.add_run({view(kBranchingUp, DType::kFloat32, {4, 1})});
    script.add_run({view(kBranchingDown, DType::kFloat32, {4, 1})});
    script.add_run({view(small, DType::kFloat32, {2, 1})});
  }
  return script;
}

}  // namespace lazyrt::test
