#include "platforms/posix/lazy_run/file_names.h"

#include <gtest/gtest.h>

#include <set>

namespace lazyrt::run {
namespace {

TEST(FileNames, StayInTheirFolderAndApart) {
  FileNames files;
  EXPECT_EQ(files.add("y"), "y.npy");
  EXPECT_EQ(files.add("../../y"), "_.._.._y.npy");
  EXPECT_EQ(files.add(""), "_.npy");
  EXPECT_EQ(files.add("y"), "y_1.npy");
  EXPECT_EQ(files.add("y_2"), "y_2.npy");
  EXPECT_EQ(files.add("y"), "y_3.npy");
  EXPECT_EQ(files.add("y_2"), "y_2_1.npy");
}

/// Names that differ behind what a file's name keeps, and names that are others with a number.
TEST(FileNames, ManyThatBeginAlikeAreNotComparedWithEachOther) {
  FileNames files;
  std::set<std::string> made;
  const std::string same(100, 'a');
  constexpr int kNames = 20000;
  for (int i = 0; i < kNames; ++i) made.insert(files.add(same + std::to_string(i)));
  for (int i = 0; i < kNames; ++i) made.insert(files.add("b_" + std::to_string(i)));
  for (int i = 0; i < kNames; ++i) made.insert(files.add("b"));
  EXPECT_EQ(made.size(), 3u * kNames);
  EXPECT_LE(files.tries(), 6u * kNames);
}

}  // namespace
}  // namespace lazyrt::run
