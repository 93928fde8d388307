// Writes the seeds of bundle_fuzz: test bundles, and one bundle for each conformance case.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lazyrt/runtime.h"
#include "tests/fuzz/patch_edit.h"
#include "tests/fuzz/sized_programs.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/case_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {

#define LAZYRT_OP(Member, name, folder) CaseList name##_cases();
#include "kernels/ops.inc"
#undef LAZYRT_OP

namespace {

constexpr size_t kLargestSeed = 32768;

class Corpus {
 public:
  explicit Corpus(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
  }

  void add(const std::string& name, const test::BundleParts& parts) {
    add(name, test::write_bundle(parts));
  }
  void add(const std::string& name, const test::AlignedBytes& file) {
    std::string plain = name;
    for (char& c : plain) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    std::ofstream out(std::filesystem::path(folder_) / (plain + ".lzb"), std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()),
              static_cast<std::streamsize>(file.size()));
    if (!out) throw std::runtime_error("cannot write " + name);
  }

  /// Cases that the op refuses by its shape rule, or that are large, make no seed.
  void add_case(const char* op, const OpCase& c) {
    test::BundleParts parts;
    test::MethodBuilder b(&parts);
    std::vector<uint8_t> zeros(kLargestSeed);
    try {
      test::add_case_node(&b, default_ops(), c, [&](size_t i) {
        zeros.resize(std::max(zeros.size(), bytes_of(c.operands[i])));
        return zeros.data();
      });
    } catch (const std::exception&) {
      return;
    }
    if (b.method().arena_bytes + parts.constants.size() <= kLargestSeed)
      add(std::string(op) + "_" + c.name, parts);
  }

 private:
  static size_t bytes_of(const CaseOperand& o) {
    size_t bytes = dtype_size(o.dtype);
    for (int64_t d : o.shape) bytes *= static_cast<size_t>(d);
    return bytes;
  }

  std::string folder_;
};

/// As it is, with patches that write elsewhere, and with parts that are several tables'.
void add_with_wild_patches(const std::string& name, const std::function<test::BundleParts()>& make,
                           Corpus* corpus) {
  corpus->add(name, make());
  for (uint64_t seed = 0; seed < 8; ++seed) {
    fuzz::Random random(seed);
    test::BundleParts parts = make();
    corpus->add(name + std::to_string(seed), seed % 4 == 3
                                                 ? fuzz::write_with_shared_parts(&random, parts)
                                                 : fuzz::write_with_wild_patches(&random, &parts));
  }
}

void write_corpus(const std::string& folder) {
  Corpus corpus(folder);
  corpus.add("tiny", test::tiny_bundle());
  corpus.add("branching", test::branching_bundle());
  corpus.add("follows", test::follows_bundle());
  corpus.add("mixed", test::mixed_bundle(default_ops()));
  corpus.add("sized_mixed", test::sized_mixed_bundle(default_ops()));
  add_with_wild_patches("ranges", test::guarded_ranges_bundle, &corpus);
  add_with_wild_patches(
      "sized", [] { return fuzz::sized_program(false); }, &corpus);
  add_with_wild_patches(
      "guarded", [] { return fuzz::sized_program(true); }, &corpus);
#define LAZYRT_OP(Member, name, folder) \
  for (const OpCase& c : name##_cases()) corpus.add_case(#name, c);
#include "kernels/ops.inc"
#undef LAZYRT_OP
}

}  // namespace
}  // namespace lazyrt

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 1;
  }
  try {
    lazyrt::write_corpus(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_corpus: %s\n", error.what());
    return 1;
  }
  return 0;
}
