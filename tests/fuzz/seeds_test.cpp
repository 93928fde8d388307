// What schema_fuzz found, and that its bundles get past the first checks.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/fuzz/agreement.h"
#include "tests/fuzz/bundle_edit.h"
#include "tests/fuzz/patch_edit.h"
#include "tests/fuzz/sized_programs.h"
#include "tests/fuzz/term_texts.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt::fuzz {
namespace {

TEST(Seeds, AreAnsweredAlike) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAZYRT_FUZZ_SEEDS)) {
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const test::AlignedBytes file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    EXPECT_EQ(disagreement(file.span()), "");
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(Seeds, OfTermsHaveBoundedTexts) {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(LAZYRT_FUZZ_SEEDS) + "_terms")) {
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(wrong_term_text(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), "");
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(Mutants, AreMostlyTakenAndAnsweredAlike) {
  Reached reached;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    test::BundleParts parts =
        seed % 2 == 0 ? test::mixed_bundle(default_ops()) : test::branching_bundle();
    const test::AlignedBytes file = mutate(default_ops(), seed, &parts);
    ASSERT_EQ(disagreement(file.span(), &reached), "");
  }
  EXPECT_GT(reached.loaded, 200);
  EXPECT_GT(reached.runs, 300);
  EXPECT_GT(reached.compared, 300);
  EXPECT_GT(reached.nodes_alone, 100);
  EXPECT_GT(reached.following, 0);
}

TEST(Mutants, OfSizedProgramsAreBoundAtOtherSizes) {
  Reached plain, wild;
  // The bytes of a file draw the memory limit, which may be too small for any run.
  for (int name = 0; name < 16; ++name) {
    test::BundleParts parts = sized_program(name % 2 == 1);
    parts.bundle.producer = "test " + std::to_string(name);
    const test::AlignedBytes file = test::write_bundle(parts);
    ASSERT_EQ(disagreement(file.span(), &plain), "");
  }
  EXPECT_EQ(plain.loaded, 16);
  EXPECT_GT(plain.resized, 60);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    test::BundleParts parts = sized_program(seed % 2 == 1);
    const test::AlignedBytes file = seed % 8 < 2 ? write_with_shared_parts(&random, parts)
                                                 : write_with_wild_patches(&random, &parts);
    ASSERT_EQ(disagreement(file.span(), &wild), "");
  }
  std::printf("of %d files %d loaded, %d with wild patches bound; %d runs at other sizes\n",
              wild.inputs, wild.loaded, wild.wild, wild.resized);
  EXPECT_GT(wild.loaded, 20);
  EXPECT_GT(wild.wild, 2);
}

/// A check that cannot fail proves nothing.
TEST(Mutants, DifferFromEachOther) {
  test::BundleParts a = test::mixed_bundle(default_ops()), b = test::mixed_bundle(default_ops());
  const test::AlignedBytes one = mutate(default_ops(), 1, &a), two = mutate(default_ops(), 2, &b);
  EXPECT_FALSE(one.size() == two.size() && std::memcmp(one.data(), two.data(), one.size()) == 0);
  test::BundleParts again = test::mixed_bundle(default_ops());
  const test::AlignedBytes same = mutate(default_ops(), 1, &again);
  ASSERT_EQ(one.size(), same.size());
  EXPECT_EQ(std::memcmp(one.data(), same.data(), one.size()), 0);
}

}  // namespace
}  // namespace lazyrt::fuzz
