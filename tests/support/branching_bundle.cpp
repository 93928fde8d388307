#include "tests/support/branching_bundle.h"

#include <algorithm>

namespace lazyrt::test {

const float kBranchingUp[4] = {1, -2, 3, -4};
const float kBranchingDown[4] = {-1, 2, -3, 4};

namespace {

constexpr DType kF32 = DType::kFloat32;
constexpr float kW[4] = {1, 2, 3, 4};
constexpr float kFirstCount = 5;

/// The parts that all variants have.
class Branch {
 public:
  Branch(BundleParts* parts, int64_t rows) : parts_(parts), b_(parts), rows_(rows) {
    x_ = b_.input("x", kF32, {rows, 1});
    if (parts->bundle.methods.size() > 1) {
      first_count_ = parts->bundle.methods[0]->values[1]->offset;
    }
    count_ = b_.constant("count.first", kF32, {1, 1}, &kFirstCount);
    fb::ValueT& first = *b_.method().values.back();
    if (parts->bundle.methods.size() > 1) first.offset = first_count_;
    auto value = std::make_unique<fb::ValueT>(first);
    value->name = "count";
    value->kind = fb::ValueKind::State;
    value->offset = 0;
    auto state = std::make_unique<fb::StateT>();
    state->name = "count";
    state->initial = count_;
    state->value = state->next = count_ + 1;
    b_.method().values.push_back(std::move(value));
    b_.method().states.push_back(std::move(state));
    count_ += 1;
  }

  void guard_first_row(bool seen) {
    const int64_t zero = 0;
    const int row = b_.constant("row", DType::kInt64, {1}, &zero);
    const int first = b_.node(fb::IndexSelectT{}, {x_, row}, kF32, {1, 1});
    auto source = std::make_unique<fb::SourceT>();
    source->file = "model.py";
    source->line = 12;
    b_.method().sources.push_back(std::move(source));
    auto guard = std::make_unique<fb::GuardT>();
    guard->kind = fb::GuardKind::Truth;
    guard->value = b_.node(relu(), {first}, kF32, {1, 1}, first);
    guard->seen_integer = seen ? 1 : 0;
    guard->source = 0;
    guard->text = "bool(x[0] > 0)";
    b_.method().guards.push_back(std::move(guard));
  }

  void count_up(float by) {
    const int step = b_.constant("step", kF32, {1, 1}, &by);
    b_.method().states[0]->next = b_.node(add(), {count_, step}, kF32, {1, 1});
  }

  int x() const { return x_; }
  int w() { return b_.constant("w", kF32, {4, 1}, kW); }
  int relu_x() { return b_.node(relu(), {x_}, kF32, {rows_, 1}); }

  void finish(int a, int b, const float* x, const float* y) {
    b_.output("y", b_.node(add(), {a, b}, kF32, {rows_, 1}));
    auto sample = std::make_unique<fb::SampleT>();
    sample->inputs.push_back(blob(x));
    sample->outputs.push_back(blob(y));
    b_.method().samples.push_back(std::move(sample));
  }

 private:
  std::unique_ptr<fb::BlobT> blob(const float* data) {
    auto blob = std::make_unique<fb::BlobT>();
    blob->dtype = fb::DType::Float32;
    blob->shape = {rows_, 1};
    blob->bytes = static_cast<uint64_t>(rows_) * sizeof(float);
    blob->offset = BundleParts::append(&parts_->samples, data, blob->bytes);
    return blob;
  }

  BundleParts* parts_;
  MethodBuilder b_;
  int64_t rows_;
  int x_ = 0;
  int count_ = 0;
  uint64_t first_count_ = 0;
};

}  // namespace

BundleParts branching_bundle() {
  BundleParts parts;
  parts.bundle.producer = "branching 1.0";
  Branch up(&parts, 4);
  up.guard_first_row(true);
  up.count_up(1);
  const float y_up[4] = {2, 0, 6, 0};
  up.finish(up.x(), up.w(), kBranchingUp, y_up);
  Branch down(&parts, 4);
  down.guard_first_row(false);
  down.count_up(10);
  const float y_down[4] = {1, 4, 3, 8};
  down.finish(down.relu_x(), down.w(), kBranchingDown, y_down);
  Branch small(&parts, 2);
  const float x_small[2] = {7, -8};
  const float y_small[2] = {14, -16};
  small.finish(small.x(), small.x(), x_small, y_small);
  auto& methods = parts.bundle.methods;
  std::move(methods.begin() + 1, methods.end(), std::back_inserter(methods[0]->variants));
  methods.resize(1);
  return parts;
}

}  // namespace lazyrt::test
