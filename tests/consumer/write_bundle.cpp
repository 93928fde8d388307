// Writes the bundle that the consumer runs: y f32[2,3] = relu(x + w), w = 1..6. Built with LazyRT,
// not with the consumer.

#include <cstdio>
#include <exception>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"

namespace {

void write(const char* path) {
  namespace test = lazyrt::test;
  const float w[6] = {1, 2, 3, 4, 5, 6};
  test::BundleParts parts;
  test::MethodBuilder method(&parts);
  const int x = method.input("x", lazyrt::DType::kFloat32, {2, 3});
  const int constant = method.constant("w", lazyrt::DType::kFloat32, {2, 3}, w);
  const int sum = method.infer(lazyrt::default_ops(), test::add(), {x, constant});
  method.output("y", method.infer(lazyrt::default_ops(), test::relu(), {sum}));
  const test::AlignedBytes file = test::write_bundle(parts);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write the file");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    write(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
