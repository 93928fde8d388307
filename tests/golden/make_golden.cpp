// Writes golden bundles of the format version that this build writes.

#include <cstdio>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/example_bundle.h"

namespace {

bool write(const std::string& path, const lazyrt::test::BundleParts& parts) {
  const auto file = lazyrt::test::write_bundle(parts);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden FOLDER\n");
    return 1;
  }
  const std::string folder = argv[1];
  const bool written =
      write(folder + "/example.lzb", lazyrt::test::example_bundle(lazyrt::default_ops())) &&
      write(folder + "/branching.lzb", lazyrt::test::branching_bundle());
  return written ? 0 : 1;
}
