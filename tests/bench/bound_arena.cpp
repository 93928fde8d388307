// The arena of a bundle at given sizes, beside the least that any plan of the same program needs,
// and how long binding takes.
//
//     bound_arena BUNDLE [NAME=SIZE]...        sizes that are not given are those of the file

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/bundle/bound_program.h"
#include "runtime/bundle/symbol_numbers.h"
#include "runtime/bundle/variant_sizes.h"
#include "tests/bench/plan_bound.h"

namespace {

using namespace lazyrt;
using bench::fail, bench::lower_bound_of, bench::require;

std::vector<int64_t> sizes_of(const fb::Method& method, const std::vector<std::string>& given) {
  int64_t sizes[kBundleMaxSymbols] = {};
  read_file_sizes(method, sizes);
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    bool found = false;
    for (uint32_t i = 0; i < count_of(method.symbols()); ++i) {
      if (text.substr(0, equals) != text_of(method.symbols()->Get(i)->name())) continue;
      sizes[i] = std::atoll(text.c_str() + equals + 1);
      found = true;
    }
    if (!found) fail("no symbol is named as in '" + text + "'");
  }
  return {sizes, sizes + count_of(method.symbols())};
}

void print(const char* what, uint64_t arena, uint64_t bound) {
  std::printf("%s: arena %llu bytes, lower bound %llu, %.3f of it\n", what,
              static_cast<unsigned long long>(arena), static_cast<unsigned long long>(bound),
              bound == 0 ? 1.0 : static_cast<double>(arena) / static_cast<double>(bound));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: bound_arena BUNDLE [NAME=SIZE]...");
  const test::AlignedBytes file = bench::read_file(argv[1]);
  ProgramState base;
  bench::open_program(file, &base);
  const fb::Method& method = base.method(0);
  print("as in the file", method.arena_bytes(), lower_bound_of(method, base.sections, base));
  if (count_of(method.symbols()) == 0) return 0;
  const std::vector<int64_t> sizes = sizes_of(method, {argv + 2, argv + argc});
  BoundProgram bound;
  require(bound.make(base, base.allocator));
  require(bound.bind(0, {sizes.data(), sizes.size()}, nullptr));
  BundleSections sections = base.sections;
  sections.metadata = {bound.state().bound_metadata, base.sections.metadata.size()};
  const fb::Method& there = bound.state().method(0);
  print(sizes_text(method, {sizes.data(), sizes.size()}).text, there.arena_bytes(),
        lower_bound_of(there, sections, base));
  double best = 1e9;
  for (int i = 0; i < 30; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    BoundProgram again;
    require(again.make(base, base.allocator));
    require(again.bind(0, {sizes.data(), sizes.size()}, nullptr));
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count());
  }
  std::printf("the metadata of these sizes: %.3f ms, the fastest of 30\n", best);
  return 0;
}
