// What the backend keeps in a folder between processes, and files there that it must not believe.

#include "runtime/backends/vulkan/cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "lazyrt/log.h"
#include "runtime/core/allocator.h"
#include "tests/vulkan/app_device.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;
using test::App;
using test::BundleParts;
using test::Loaded;
using testing::HasSubstr;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class VulkanCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("vulkan_cache_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    EXPECT_EQ(test::new_validation_messages(), "");
  }

  /// Runs relu in a process of its own, as it were, whose driver is asked what it was given.
  /// Returns the cache's status.
  Status run(const fs::path& folder) {
    App app;
    given() = 0;
    app.replace(
        "vkCreatePipelineCache",
        +[](VkDevice device, const VkPipelineCacheCreateInfo* info,
            const VkAllocationCallbacks* callbacks, VkPipelineCache* cache) {
          given() = info->initialDataSize;
          return App::current()->api().CreatePipelineCache(device, info, callbacks, cache);
        });
    const VulkanAppDevice handles = app.handles();
    const std::string path = folder;
    VulkanOptions options;
    options.app_device = &handles;
    options.cache_folder = path.c_str();
    Result<VulkanBackend> backend = VulkanBackend::create(options);
    EXPECT_TRUE(backend.ok()) << backend.status().message();
    BundleParts parts;
    test::MethodBuilder b(&parts);
    b.output("y", b.infer(default_ops(), test::relu(), {b.input("x", DType::kFloat32, {2})}));
    const Loaded loaded(parts, default_ops());
    SessionOptions on_it;
    on_it.backend = backend->backend();
    Session session = test::make(loaded.method(), on_it);
    const float x[2] = {-1, 2};
    EXPECT_TRUE(session.set_input(0, x, sizeof(x)).ok());
    EXPECT_TRUE(session.run().ok());
    EXPECT_EQ(test::floats(session, 0), (std::vector<float>{0, 2}));
    (void)backend->save_pipelines();
    return backend->cache_status();
  }
  static size_t& given() {
    static size_t bytes = 0;
    return bytes;
  }
  fs::path only_file() const {
    std::vector<fs::path> files(fs::directory_iterator(folder_), {});
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files[0];
  }

  fs::path folder_;
};

TEST_F(VulkanCacheTest, GivesTheDriverWhatTheLastProcessHad) {
  EXPECT_TRUE(run(folder_).ok());
  EXPECT_EQ(given(), 0u);
  const fs::path file = only_file();
  EXPECT_EQ(file.extension(), ".pipelines");
  const auto written = fs::last_write_time(file);
  EXPECT_TRUE(run(folder_).ok());
  EXPECT_GE(given(), sizeof(VkPipelineCacheHeaderVersionOne));
  EXPECT_LT(given(), fs::file_size(file));
  EXPECT_EQ(fs::last_write_time(only_file()), written) << "it had nothing new";
}

TEST_F(VulkanCacheTest, ReplacesADamagedFile) {
  EXPECT_TRUE(run(folder_).ok());
  const fs::path file = only_file();
  const std::string sound = read(file);
  std::string damaged = sound;
  damaged.back() ^= 1;
  for (const std::string& bytes : {damaged, sound.substr(0, 20), std::string()}) {
    write(file, bytes);
    const Status status = run(folder_);
    EXPECT_EQ(status.error(), Error::kIo);
    EXPECT_THAT(status.message(), HasSubstr(file.string()));
    EXPECT_EQ(given(), 0u);
    EXPECT_EQ(read(only_file()), sound);
    EXPECT_TRUE(run(folder_).ok());
  }
}

/// A file of ours that is sound, but whose content no driver of this device wrote.
TEST_F(VulkanCacheTest, GivesTheDriverNothingOfAnotherDevice) {
  const std::vector<uint8_t> content(100, 1);
  {
    const App app;
    VulkanCache cache;
    ASSERT_TRUE(Status(cache.open(folder_.c_str(), app.physical())).ok());
    ASSERT_TRUE(cache.write(VulkanCache::Kind::kPipelines, 0, content, platform_allocator()).ok());
  }
  EXPECT_EQ(run(folder_).error(), Error::kIo);
  EXPECT_EQ(given(), 0u);
  EXPECT_TRUE(run(folder_).ok());
  EXPECT_GE(given(), sizeof(VkPipelineCacheHeaderVersionOne));
}

TEST_F(VulkanCacheTest, RunsWithoutAFolderThatCanBeWrittenAndSaysSo) {
  static std::vector<std::string> lines;
  lines.clear();
  set_log_hook([](LogLevel, const char* line) { lines.push_back(line); });
  const Status status = run(folder_ / "not_there");
  set_log_hook(nullptr);
  EXPECT_EQ(status.error(), Error::kIo);
  EXPECT_THAT(status.message(), HasSubstr("cannot write"));
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("cache: cannot write"));
}

TEST_F(VulkanCacheTest, AFolderWhoseNameIsTooLongIsRefused) {
  VulkanCache cache;
  EXPECT_EQ(cache.open(std::string(5000, 'x').c_str(), {}).error(), Error::kInvalidArgument);
  EXPECT_EQ(cache.open("", {}).error(), Error::kInvalidArgument);
}

/// Files of our own making, of devices that differ.
class VulkanCacheFiles : public VulkanCacheTest {
 protected:
  void SetUp() override {
    VulkanCacheTest::SetUp();
    device_.id.deviceUUID[3] = 7;
    device_.properties.driverVersion = 12;
    open(&cache_, device_);
  }
  void open(VulkanCache* cache, const VulkanPhysical& device) const {
    ASSERT_TRUE(Status(cache->open(folder_.c_str(), device)).ok());
  }
  static Status write_to(VulkanCache* cache, const std::string& text, uint64_t bundle = 0) {
    return cache->write(VulkanCache::Kind::kVerdict, bundle,
                        {reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                        platform_allocator());
  }
  static std::string read_from(VulkanCache* cache, uint64_t bundle = 0) {
    VulkanCacheFile file;
    cache->read(VulkanCache::Kind::kVerdict, bundle, &file);
    if (!file.exists()) return "(none)";
    return {file.content().begin(), file.content().end()};
  }

  fs::path file_of(const std::string& bundle) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().string().find(bundle) != std::string::npos) return entry.path();
    }
    return folder_ / "none";
  }

  VulkanPhysical device_;
  VulkanCache cache_;
};

TEST_F(VulkanCacheFiles, AreOfABundle) {
  EXPECT_EQ(read_from(&cache_), "(none)");
  EXPECT_TRUE(cache_.status().ok()) << "no file yet is nothing to speak of";
  ASSERT_TRUE(write_to(&cache_, "one", 1).ok());
  ASSERT_TRUE(write_to(&cache_, "", 2).ok());
  EXPECT_EQ(read_from(&cache_, 1), "one");
  EXPECT_EQ(read_from(&cache_, 2), "");
  EXPECT_EQ(read_from(&cache_, 3), "(none)");
  ASSERT_TRUE(write_to(&cache_, "another", 1).ok());
  EXPECT_EQ(read_from(&cache_, 1), "another");
  fs::rename(file_of("-0000000000000001"), file_of("-0000000000000002"));
  EXPECT_EQ(read_from(&cache_, 2), "(none)") << "the name alone says nothing";
}

TEST_F(VulkanCacheFiles, OfAnotherDriverOrDeviceAreNotUsed) {
  ASSERT_TRUE(write_to(&cache_, "mine").ok());
  std::vector<VulkanPhysical> others(5, device_);
  others[0].properties.driverVersion = 13;
  others[1].properties.pipelineCacheUUID[15] = 1;
  others[2].id.driverUUID[0] = 1;
  others[3].properties.vendorID = 1;
  others[4].id.deviceUUID[0] = 1;
  for (const VulkanPhysical& other : others) {
    VulkanCache cache;
    open(&cache, other);
    EXPECT_EQ(read_from(&cache), "(none)");
  }
  EXPECT_EQ(read_from(&cache_), "mine");
  VulkanCache updated;
  open(&updated, others[0]);
  EXPECT_EQ(read_from(&updated), "(none)");
  EXPECT_THAT(updated.status().message(), HasSubstr("another driver, device, bundle or build"));
  ASSERT_TRUE(write_to(&updated, "new").ok());
  EXPECT_EQ(read_from(&updated), "new");
  EXPECT_EQ(read_from(&cache_), "(none)") << "one file for each device";
}

TEST_F(VulkanCacheFiles, DamagedOnesAreNotUsed) {
  ASSERT_TRUE(write_to(&cache_, "some content").ok());
  const fs::path file = only_file();
  const std::string sound = read(file);
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    write(file, damaged);
    ASSERT_EQ(read_from(&cache_), "(none)") << "byte " << i;
  }
  for (size_t bytes = 0; bytes < sound.size(); bytes += 5) {
    write(file, sound.substr(0, bytes));
    ASSERT_EQ(read_from(&cache_), "(none)") << bytes << " bytes";
  }
  write(file, sound + "x");
  EXPECT_EQ(read_from(&cache_), "(none)");
  write(file, sound);
  EXPECT_EQ(read_from(&cache_), "some content");
}

}  // namespace
}  // namespace lazyrt
