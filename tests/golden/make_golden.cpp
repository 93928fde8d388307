// Writes golden bundles of the format version that this build writes.

#include <cstdio>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/support/example_bundle.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden FOLDER\n");
    return 1;
  }
  const auto file = lazyrt::test::write_bundle(lazyrt::test::example_bundle(lazyrt::default_ops()));
  std::ofstream out(std::string(argv[1]) + "/example.lzb", std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  return out.flush() ? 0 : 1;
}
