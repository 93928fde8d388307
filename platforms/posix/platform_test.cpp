#include "runtime/platform/platform.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/platform/files.h"

namespace lazyrt {
namespace {

std::string temp_path(const char* name) {
  return testing::TempDir() + name + std::to_string(getpid());
}

TEST(Platform, AllocateAlignsAndTakesZeroBytes) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{1000}}) {
    for (size_t alignment : {size_t{1}, size_t{16}, size_t{64}, size_t{4096}}) {
      void* p = platform_allocate(bytes, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0u);
      platform_release(p);
    }
  }
  platform_release(nullptr);
}

TEST(Platform, AllocateTooMuchIsNull) { EXPECT_EQ(platform_allocate(SIZE_MAX / 2, 64), nullptr); }

TEST(Platform, TicksGoForward) {
  const uint64_t a = platform_ticks();
  usleep(2000);
  EXPECT_GE(platform_ticks() - a, 1000000u);
}

TEST(Platform, MapsAFileAndKeepsItsContentWhenUnneeded) {
  const std::string path = temp_path("map");
  const std::string text(20000, 'x');
  std::ofstream(path) << text;
  MappedFile file;
  ASSERT_TRUE(platform_map_file(path.c_str(), &file).ok());
  ASSERT_EQ(file.bytes, text.size());
  platform_pages_unneeded(file.data, file.bytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data), file.bytes), text);
  platform_unmap_file(file);
  unlink(path.c_str());
}

TEST(Platform, MapErrorsNameTheFile) {
  MappedFile file;
  const Status missing = platform_map_file("/no/such/file.lzb", &file);
  EXPECT_EQ(missing.error(), Error::kNotFound);
  EXPECT_NE(std::string(missing.message()).find("/no/such/file.lzb"), std::string::npos);
  EXPECT_EQ(platform_map_file("/", &file).error(), Error::kIo);
  EXPECT_EQ(file.data, nullptr);
}

TEST(Platform, EmptyFileMapsToNothing) {
  const std::string path = temp_path("empty");
  std::ofstream(path) << "";
  MappedFile file;
  ASSERT_TRUE(platform_map_file(path.c_str(), &file).ok());
  EXPECT_EQ(file.bytes, 0u);
  platform_unmap_file(file);
  unlink(path.c_str());
}

TEST(Platform, ReplacesAFileAllOrNothing) {
  namespace fs = std::filesystem;
  const fs::path folder = temp_path("replace");
  fs::create_directories(folder);
  const std::string path = folder / "file";
  for (const std::string text : {"first", "", "the last of them"}) {
    ASSERT_TRUE(platform_replace_file(path.c_str(), text.data(), text.size()).ok());
    std::ifstream in(path, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  }
  const std::string taken = folder / "folder";
  fs::create_directories(taken + "/within");
  const Status refused = platform_replace_file(taken.c_str(), "x", 1);
  EXPECT_EQ(refused.error(), Error::kIo);
  EXPECT_NE(std::string(refused.message()).find(taken), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2) << "nothing partial stays";
  EXPECT_EQ(platform_replace_file("/no/such/folder/file", "x", 1).error(), Error::kIo);
  EXPECT_EQ(platform_replace_file(std::string(5000, 'x').c_str(), "x", 1).error(), Error::kIo);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lazyrt
