// A backend on the device and queue of an app, and on drivers that lack something.

#include "tests/vulkan/app_device.h"

#include <atomic>
#include <thread>

#include "runtime/backends/vulkan/device.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::App;
using test::BundleParts;
using test::Loaded;

class VulkanAppDeviceTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(test::new_validation_messages(), ""); }
};

/// y = relu(x).
BundleParts relu_bundle() {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  b.output("y", b.infer(default_ops(), test::relu(), {b.input("x", DType::kFloat32, {4})}));
  return parts;
}

/// The app's own thread: submits nothing to the queue, again and again.
class QueueUser {
 public:
  explicit QueueUser(App* app) : app_(*app), thread_([this] { use(); }) {}
  QueueUser(const QueueUser&) = delete;
  QueueUser& operator=(const QueueUser&) = delete;
  ~QueueUser() {
    stop_ = true;
    thread_.join();
  }
  size_t submitted() const { return submitted_; }

 private:
  void use() {
    VkFence fence = VK_NULL_HANDLE;
    const VkFenceCreateInfo info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    ASSERT_EQ(app_.api().CreateFence(app_.device(), &info, nullptr, &fence), VK_SUCCESS);
    while (!stop_) {
      {
        const std::lock_guard<std::mutex> lock(app_.mutex());
        EXPECT_EQ(app_.api().QueueSubmit(app_.queue(), 0, nullptr, fence), VK_SUCCESS);
      }
      app_.api().WaitForFences(app_.device(), 1, &fence, VK_TRUE, UINT64_MAX);
      app_.api().ResetFences(app_.device(), 1, &fence);
      ++submitted_;
    }
    app_.api().DestroyFence(app_.device(), fence, nullptr);
  }

  App& app_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> submitted_ = 0;
  std::thread thread_;
};

TEST_F(VulkanAppDeviceTest, SharesItsQueueWithTheApp) {
  App app;
  const QueueUser other(&app);
  {
    const VulkanAppDevice handles = app.handles();
    VulkanOptions options;
    options.app_device = &handles;
    const Result<VulkanBackend> backend = VulkanBackend::create(options);
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    EXPECT_STREQ(backend->device_name(), app.physical().properties.deviceName);
    const Loaded loaded(relu_bundle(), default_ops());
    SessionOptions on_it;
    on_it.backend = backend->backend();
    Session session = test::make(loaded.method(), on_it);
    const size_t before = other.submitted();
    for (int round = 0; round < 300 || other.submitted() < before + 10; ++round) {
      const auto r = static_cast<float>(round);
      const float x[4] = {-1 - r, r, -3, 4};
      ASSERT_TRUE(session.set_input(0, x, sizeof(x)).ok());
      const Status ran = session.run();
      ASSERT_TRUE(ran.ok()) << ran.message();
      ASSERT_EQ(test::floats(session, 0), (std::vector<float>{0, r, 0, 4}));
    }
    EXPECT_EQ(app.locked(), backend->submission_count());
  }
  const size_t before = other.submitted();  // the app's device still works
  while (other.submitted() < before + 2) std::this_thread::yield();
}

TEST_F(VulkanAppDeviceTest, RefusesNullHandles) {
  App app;
  VulkanAppDevice handles = app.handles();
  handles.queue = nullptr;
  VulkanOptions options;
  options.app_device = &handles;
  EXPECT_EQ(VulkanBackend::create(options).status().error(), Error::kInvalidArgument);
}

TEST_F(VulkanAppDeviceTest, NamesTheLimitThatIsTooSmall) {
  App app;
  app.replace(
      "vkGetPhysicalDeviceProperties",
      +[](VkPhysicalDevice device, VkPhysicalDeviceProperties* out) {
        App::current()->api().GetPhysicalDeviceProperties(device, out);
        out->limits.maxComputeSharedMemorySize = 8192;
      });
  const VulkanAppDevice handles = app.handles();
  VulkanOptions options;
  options.app_device = &handles;
  const Status refused = VulkanBackend::create(options).status();
  EXPECT_EQ(refused.error(), Error::kUnsupported);
  EXPECT_THAT(refused.message(),
              testing::HasSubstr("maxComputeSharedMemorySize is 8192, must be at least 16384"));
}

TEST_F(VulkanAppDeviceTest, MapsItsMemoryOnlyWhereTheHostCachesIt) {
  for (const bool cached : {true, false}) {
    App app;
    if (!cached) {
      app.replace(
          "vkGetPhysicalDeviceMemoryProperties",
          +[](VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* out) {
            App::current()->api().GetPhysicalDeviceMemoryProperties(device, out);
            for (VkMemoryType& type : out->memoryTypes)
              type.propertyFlags &= ~VkFlags{VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
          });
    }
    const VulkanAppDevice handles = app.handles();
    VulkanOptions options;
    options.app_device = &handles;
    VulkanDevice device;
    ASSERT_TRUE(Status(device.open(options)).ok());
    VulkanBuffer work, host;
    ASSERT_TRUE(Status(device.make_buffer(64, &work)).ok());
    ASSERT_TRUE(Status(device.make_host_buffer(64, &host)).ok());
    EXPECT_EQ(work.mapped != nullptr, cached);
    EXPECT_NE(host.mapped, nullptr);
    device.release_buffer(work);
    device.release_buffer(host);
  }
}

}  // namespace
}  // namespace lazyrt
