#pragma once

// An app with a device of Vulkan of its own, whose driver a test can change.

#include <map>
#include <mutex>
#include <string>

#include "lazyrt/vulkan.h"
#include "runtime/backends/vulkan/physical.h"

namespace lazyrt::test {

class App {
 public:
  App() {
    VkPhysicalDevice devices[kMostVulkanDevices];
    uint32_t count = 0;
    current() = this;
    replaced().clear();
    EXPECT_TRUE(load_global_functions(&api_).ok());
    EXPECT_TRUE(make_instance(&api_, &instance_).ok());
    EXPECT_TRUE(list_devices(api_, instance_, devices, &count).ok());
    physical_ = describe_device(api_, devices[0]);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = family();
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceFeatures features = {};
    features.robustBufferAccess = VK_TRUE;
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.pEnabledFeatures = &features;
    EXPECT_EQ(api_.CreateDevice(physical_.handle, &info, nullptr, &device_), VK_SUCCESS);
    EXPECT_TRUE(load_device_functions(&api_, device_).ok());
    api_.GetDeviceQueue(device_, family(), 0, &queue_);
  }
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App() {
    api_.DestroyDevice(device_, nullptr);
    api_.DestroyInstance(instance_, nullptr);
    close_loader(&api_);
  }

  const VulkanApi& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  uint32_t family() const { return static_cast<uint32_t>(physical_.family); }
  const VulkanPhysical& physical() const { return physical_; }
  std::mutex& mutex() { return mutex_; }
  size_t locked() const { return locked_; }

  /// The backend gets this function of Vulkan instead of the driver's.
  template <class Function>
  void replace(const std::string& name, Function* function) {
    replaced()[name] = reinterpret_cast<PFN_vkVoidFunction>(function);
  }
  /// The app whose handles are in use, for such functions.
  static App*& current() {
    static App* app = nullptr;
    return app;
  }

  /// What the backend is given of it.
  VulkanAppDevice handles() {
    VulkanAppDevice out;
    out.get_instance_proc_addr = &find_in_instance;
    out.instance = instance_;
    out.physical_device = physical_.handle;
    out.device = device_;
    out.queue = queue_;
    out.queue_family = family();
    out.lock = [](void* self) {
      static_cast<App*>(self)->mutex_.lock();
      ++static_cast<App*>(self)->locked_;
    };
    out.unlock = [](void* self) { static_cast<App*>(self)->mutex_.unlock(); };
    out.context = this;
    return out;
  }

 private:
  static std::map<std::string, PFN_vkVoidFunction>& replaced() {
    static std::map<std::string, PFN_vkVoidFunction> functions;
    return functions;
  }
  static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_in_instance(VkInstance instance,
                                                                   const char* name) {
    if (name == std::string("vkGetDeviceProcAddr"))
      return reinterpret_cast<PFN_vkVoidFunction>(&find_in_device);
    const auto found = replaced().find(name);
    return found != replaced().end() ? found->second
                                     : current()->api_.get_instance_proc_addr(instance, name);
  }
  static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_in_device(VkDevice device,
                                                                 const char* name) {
    const auto found = replaced().find(name);
    return found != replaced().end() ? found->second
                                     : current()->api_.GetDeviceProcAddr(device, name);
  }

  VulkanApi api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VulkanPhysical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  size_t locked_ = 0;
};

}  // namespace lazyrt::test
