#include "tests/vulkan/validation_log.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/backends/vulkan/api.h"

namespace lazyrt::test {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

std::string folder() {
  static const std::string path = [] {
    const std::string made =
        std::filesystem::temp_directory_path() / ("lazyrt_vulkan_" + std::to_string(getpid()));
    std::filesystem::create_directories(made);
    return made;
  }();
  return path;
}
std::string log_path() { return folder() + "/messages.txt"; }

bool layer_exists() {
  VulkanApi api;
  const Fault loaded = load_global_functions(&api);
  if (!loaded.ok()) return false;
  uint32_t count = 0;
  api.EnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  api.EnumerateInstanceLayerProperties(&count, layers.data());
  bool found = false;
  for (const VkLayerProperties& layer : layers)
    found = found || layer.layerName == std::string(kLayer);
  close_loader(&api);
  return found;
}

}  // namespace

bool begin_validation() {
  if (!layer_exists()) return false;
  std::ofstream settings(folder() + "/vk_layer_settings.txt");
  settings << "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
           << "khronos_validation.report_flags = error,warn,perf\n"
           << "khronos_validation.log_filename = " << log_path() << "\n"
           << "khronos_validation.enables = "
              "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,"
              "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT\n";
  setenv("VK_LAYER_SETTINGS_PATH", folder().c_str(), 1);
  setenv("VK_INSTANCE_LAYERS", kLayer, 1);
  return true;
}

std::string new_validation_messages() {
  static size_t seen = 0;
  std::ifstream file(log_path(), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  text.erase(0, std::min(seen, text.size()));
  seen += text.size();
  return text;
}

}  // namespace lazyrt::test
