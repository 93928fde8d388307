// Writes the bundle that the consumer runs: y f32[2,3] = relu(x + w), w = 1..6; or one that differs
// from it by an operator, a function or a type. Built with LazyRT, not with the consumer.

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"

namespace {

namespace test = lazyrt::test;

/// By "relu", "softmax", "abs".
int last_node(test::MethodBuilder* method, const char* op, int x) {
  if (std::strcmp(op, "softmax") == 0) {
    return method->infer(lazyrt::default_ops(), lazyrt::fb::SoftmaxT(), {x});
  }
  lazyrt::fb::UnaryT unary = test::relu();
  if (std::strcmp(op, "abs") == 0) unary.fn = lazyrt::fb::UnaryFn::Abs;
  return method->infer(lazyrt::default_ops(), unary, {x});
}

void write(const char* path, const char* op, lazyrt::DType type) {
  const float w[6] = {1, 2, 3, 4, 5, 6};
  const double w64[6] = {1, 2, 3, 4, 5, 6};
  const void* data = type == lazyrt::DType::kFloat64 ? static_cast<const void*>(w64) : w;
  test::BundleParts parts;
  test::MethodBuilder method(&parts);
  const int x = method.input("x", type, {2, 3});
  const int constant = method.constant("w", type, {2, 3}, data);
  const int sum = method.infer(lazyrt::default_ops(), test::add(), {x, constant});
  method.output("y", last_node(&method, op, sum));
  const test::AlignedBytes file = test::write_bundle(parts);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write the file");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) return 2;
  const bool wide = argc == 4 && std::strcmp(argv[3], "f64") == 0;
  try {
    write(argv[1], argc > 2 ? argv[2] : "relu",
          wide ? lazyrt::DType::kFloat64 : lazyrt::DType::kFloat32);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
