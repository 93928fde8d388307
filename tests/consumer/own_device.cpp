// An app that has its own Vulkan device and lends it to LazyRT, which computes y = relu(x + w) of a
// bundle on the app's queue. Prints y. `own_device FILE.lzb`.
#include <lazyrt/vulkan.h>
#include <vulkan/vulkan.h>

#include <mutex>
#include <vector>

#include "run.h"

namespace {

class App {
 public:
  App() {
    VkApplicationInfo about = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
    about.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &about;
    if (vkCreateInstance(&info, nullptr, &instance_) != VK_SUCCESS) return;
    uint32_t count = 1;
    VkPhysicalDevice first = VK_NULL_HANDLE;
    const VkResult listed = vkEnumeratePhysicalDevices(instance_, &count, &first);
    if ((listed == VK_SUCCESS || listed == VK_INCOMPLETE) && count == 1) make_device(first);
  }
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App() {
    if (device_ != VK_NULL_HANDLE) vkDestroyDevice(device_, nullptr);
    if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
  }

  bool is_ready() const { return queue_ != VK_NULL_HANDLE; }

  /// The handles for LazyRT, which locks the mutex while it submits.
  lazyrt::VulkanAppDevice handles() {
    lazyrt::VulkanAppDevice out;
    out.get_instance_proc_addr = &vkGetInstanceProcAddr;
    out.instance = instance_;
    out.physical_device = physical_;
    out.device = device_;
    out.queue = queue_;
    out.queue_family = family_;
    out.lock = [](void* app) { static_cast<App*>(app)->mutex_.lock(); };
    out.unlock = [](void* app) { static_cast<App*>(app)->mutex_.unlock(); };
    out.context = this;
    return out;
  }

  /// Whether the app itself can still submit work to the queue and see it end.
  bool submits() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return vkQueueSubmit(queue_, 0, nullptr, VK_NULL_HANDLE) == VK_SUCCESS &&
           vkQueueWaitIdle(queue_) == VK_SUCCESS;
  }

 private:
  void make_device(VkPhysicalDevice physical) {
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    while (family_ < count && (families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family_;
    if (family_ == count) return;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = family_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceFeatures features = {};
    features.robustBufferAccess = VK_TRUE;
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.pEnabledFeatures = &features;
    if (vkCreateDevice(physical, &info, nullptr, &device_) != VK_SUCCESS) return;
    physical_ = physical;
    vkGetDeviceQueue(device_, family_, 0, &queue_);
  }

  std::mutex mutex_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  App app;
  if (!app.is_ready()) return fail("there is no device of Vulkan 1.1");
  {
    const lazyrt::VulkanAppDevice handles = app.handles();
    lazyrt::VulkanOptions options;
    options.app_device = &handles;
    const auto vulkan = lazyrt::VulkanBackend::create(options);  // outlives the Program
    if (!vulkan.ok()) return fail(vulkan.status());
    if (run(argc > 1 ? argv[1] : "", vulkan->backend()) != 0) return 1;
    if (vulkan->statistics().submissions != 1) return fail("the run was not one submission");
  }
  return app.submits() ? 0 : fail("the app's queue takes no more work");
}
