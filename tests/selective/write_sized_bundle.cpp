// Writes sized.lzb, y = x + x of x f32[n] with n from 1 to 8 and a sample of n = 2, and x5.npy, an
// input of five numbers.

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/support/tiny_bundle.h"

namespace lazyrt {
namespace {

test::BundleParts sized_bundle() {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2});
  const int y = b.node(test::add(), {x, x}, DType::kFloat32, {2});
  b.output("y", y);
  fb::MethodT& m = b.method();
  m.symbols.push_back(std::make_unique<fb::SymbolT>());
  m.symbols[0]->name = "n";
  m.symbols[0]->max = 8;
  m.values[0]->symbols = {0};
  const float in[2] = {1, 2}, out[2] = {2, 4};
  m.samples.push_back(std::make_unique<fb::SampleT>());
  m.samples[0]->inputs.push_back(parts.sample_blob(*m.values[0], in));
  m.samples[0]->outputs.push_back(parts.sample_blob(*m.values[1], out));
  return parts;
}

bool write(const std::string& path, const void* data, size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  return out.good();
}

/// One-dimensional, of format 1.0.
std::string npy(const std::vector<float>& x) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(x.size()) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
         std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
}

bool write_files(const std::string& folder) {
  const test::AlignedBytes file = test::write_bundle(sized_bundle());
  const std::string input = npy({1, 2, 3, 4, 5});
  return write(folder + "/sized.lzb", file.data(), file.size()) &&
         write(folder + "/x5.npy", input.data(), input.size());
}

}  // namespace
}  // namespace lazyrt

int main(int argc, char** argv) {
  if (argc == 2 && lazyrt::write_files(argv[1])) return 0;
  std::fprintf(stderr, "usage: write_sized_bundle FOLDER\n");
  return 1;
}
