#include "tests/support/example_bundle.h"

namespace lazyrt::test {

const float kExampleX[6] = {1, 2, 3, -40, 5, 6};
const int64_t kExampleIds[2] = {2, 0};
const float kExampleY[6] = {7, 9, 11, 0, 6, 8};

BundleParts example_bundle(const OpTable& ops) {
  BundleParts parts;
  parts.bundle.producer = "example 1.0";
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2, 3});
  const int ids = b.input("ids", DType::kInt64, {2});
  const float table[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const int rows =
      b.infer(ops, fb::IndexSelectT{}, {b.constant("table", DType::kFloat32, {3, 3}, table), ids});
  const int y = b.infer(ops, relu(), {b.infer(ops, add(), {rows, x})});
  b.output("y", y);
  fb::MethodT& m = b.method();
  auto sample = std::make_unique<fb::SampleT>();
  sample->inputs.push_back(parts.sample_blob(*m.values[static_cast<size_t>(x)], kExampleX));
  sample->inputs.push_back(parts.sample_blob(*m.values[static_cast<size_t>(ids)], kExampleIds));
  sample->outputs.push_back(parts.sample_blob(*m.values[static_cast<size_t>(y)], kExampleY));
  m.samples.push_back(std::move(sample));
  return parts;
}

}  // namespace lazyrt::test
