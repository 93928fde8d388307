#include "platforms/posix/lazy_run/devices.h"

#include <iterator>
#include <string>

#include "lazyrt/backend_choice.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

#if LAZYRT_HAS_VULKAN

/// "32 KiB", "15.6 GiB"
std::string size_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g %s", size, kUnits[unit]);
  return text;
}

/// The features that are used of the device beyond those that all have.
std::string options_of(const VulkanDeviceInfo& device) {
  std::string text;
  const auto add = [&](bool is_there, const std::string& what) {
    if (is_there) text += (text.empty() ? "" : ", ") + what;
  };
  add(device.operand_bytes > uint64_t{1} << 27, "tensors to " + size_text(device.operand_bytes));
  add(device.block_bytes > uint64_t{1} << 30, "blocks to " + size_text(device.block_bytes));
  add(device.group_size > 128, "groups of " + std::to_string(device.group_size));
  add(device.shared_bytes > 16384, size_text(device.shared_bytes) + " for each group");
  add(device.shares_memory, "memory shared with the host");
  add(device.has_clock, "times of nodes");
  return text.empty() ? "nothing" : text;
}

void print(int number, const VulkanDeviceInfo& device, std::FILE* out) {
  std::fprintf(out, "%d  %s: %s, Vulkan %s, %s of memory%s%s\n", number,
               printable(device.name).c_str(), device.type, device.api_version,
               size_text(device.memory_bytes).c_str(), device.driver[0] == '\0' ? "" : ", driver ",
               printable(device.driver).c_str());
  if (device.status.ok()) {
    std::fprintf(out, "   used beyond Vulkan 1.1's minimum: %s\n", options_of(device).c_str());
  } else {
    std::fprintf(out, "   cannot be used: %s\n", printable(device.status.message()).c_str());
  }
}

Json json_of(int number, const VulkanDeviceInfo& device) {
  return {{"device", number},
          {"name", device.name},
          {"type", device.type},
          {"driver", device.driver},
          {"api_version", device.api_version},
          {"memory_bytes", device.memory_bytes},
          {"shares_memory", device.shares_memory},
          {"has_clock", device.has_clock},
          {"operand_bytes", device.operand_bytes},
          {"block_bytes", device.block_bytes},
          {"group_size", device.group_size},
          {"shared_bytes", device.shared_bytes},
          {"usable", device.status.ok()},
          {"reason", device.status.message()}};
}

/// Adds each device to the list, or prints it. Returns why there are none.
std::string add_devices(Json* list, std::FILE* out) {
  for (int i = 0;; ++i) {
    const Result<VulkanDeviceInfo> device = describe_vulkan_device(i);
    if (!device.ok()) return i == 0 ? device.status().message() : "";
    if (list != nullptr) {
      list->push_back(json_of(i, *device));
    } else {
      print(i, *device, out);
    }
  }
}
#else
std::string add_devices(Json*, std::FILE*) {
  return BackendChoice().find("vulkan").status().message();
}
#endif

}  // namespace

void list_devices(bool json, std::FILE* out) {
  Json list = Json::array();
  const std::string reason = add_devices(json ? &list : nullptr, out);
  if (json) {
    std::fprintf(out, "%s\n", dump({{"devices", list}, {"reason", reason}}).c_str());
  } else if (!reason.empty()) {
    std::fprintf(out, "no devices: %s\n", printable(reason).c_str());
  }
}

}  // namespace lazyrt::run
