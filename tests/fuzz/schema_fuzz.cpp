// Bundles whose fields are edited with the schema in hand: what the loader takes, cpu and reference
// answer alike.

#include <cstdio>
#include <cstdlib>

#include "lazyrt/runtime.h"
#include "tests/fuzz/agreement.h"
#include "tests/fuzz/bundle_edit.h"

namespace {

using namespace lazyrt;

fuzz::Reached total;

void print_reached() {
  std::fprintf(stderr,
               "of %d inputs %d loaded; %d sessions, %d runs, %d results compared; %d nodes alone; "
               "%d runs at other sizes, %d programs with wild patches\n",
               total.inputs, total.loaded, total.sessions, total.runs, total.compared,
               total.nodes_alone, total.resized, total.wild);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return std::atexit(print_reached); }

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  test::BundleParts parts;
  if (!fuzz::read_parts(test::AlignedBytes(data, size).span(), &parts)) return 0;
  const test::AlignedBytes file = fuzz::mutate(default_ops(), seed, &parts);
  if (file.size() > max_size) return size;
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const test::AlignedBytes file(data, size);
  const std::string text = fuzz::disagreement(file.span(), &total);
  if (text.empty()) return 0;
  std::fprintf(stderr, "cpu and reference disagree: %s\n", text.c_str());
  std::abort();
}
