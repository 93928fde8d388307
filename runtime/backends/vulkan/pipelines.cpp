#include "runtime/backends/vulkan/pipelines.h"

#include <algorithm>

#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

/// Whether the header that the driver writes before its data names this device.
bool is_of(const VkPhysicalDeviceProperties& device, Span<const uint8_t> data) {
  VkPipelineCacheHeaderVersionOne header;
  if (data.size() < sizeof(header)) return false;
  std::memcpy(&header, data.data(), sizeof(header));
  return header.headerSize >= sizeof(header) && header.headerSize <= data.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
         std::memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

VulkanPipelines::~VulkanPipelines() {
  const VulkanApi& api = device_.api();
  for (const Made& made : pipelines_) api.DestroyPipeline(device_.handle(), made.pipeline, nullptr);
  if (cache_ != VK_NULL_HANDLE) api.DestroyPipelineCache(device_.handle(), cache_, nullptr);
  if (layout_ != VK_NULL_HANDLE) api.DestroyPipelineLayout(device_.handle(), layout_, nullptr);
  if (set_layout_ != VK_NULL_HANDLE)
    api.DestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
}

Fault VulkanPipelines::open() {
  LAZYRT_RETURN_IF_ERROR(make_layouts());
  return make_cache();
}

Fault VulkanPipelines::make_layouts() {
  const VulkanApi& api = device_.api();
  VkDescriptorSetLayoutBinding bindings[kMostOperands] = {};
  for (uint32_t i = 0; i < kMostOperands; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = kMostOperands;
  set.pBindings = bindings;
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateDescriptorSetLayout, device_.handle(), &set, nullptr,
                            &set_layout_);
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  VkPipelineLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  LAZYRT_VK_RETURN_IF_ERROR(api, CreatePipelineLayout, device_.handle(), &layout, nullptr,
                            &layout_);
  return {};
}

Fault VulkanPipelines::make_cache() {
  const VulkanApi& api = device_.api();
  VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  VulkanCacheFile file;
  kept_.read(VulkanCache::Kind::kPipelines, 0, &file);
  if (file.exists()) {
    const Span<const uint8_t> data = file.content();
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    if (is_of(device_.physical().properties, data) &&
        api.CreatePipelineCache(device_.handle(), &info, nullptr, &cache_) == VK_SUCCESS) {
      kept_checksum_ = Checksum64::of(data.data(), data.size());
      return {};
    }
    kept_.report(
        Status(Error::kIo, "the driver does not accept the pipelines that it compiled itself"));
    info.initialDataSize = 0;
  }
  LAZYRT_VK_RETURN_IF_ERROR(api, CreatePipelineCache, device_.handle(), &info, nullptr, &cache_);
  return {};
}

Status VulkanPipelines::save() {
  if (!kept_.is_open()) return {};
  const VulkanApi& api = device_.api();
  const Lock lock(mutex_);  // no pipeline is added between the two calls
  size_t bytes = 0;
  Status status = vulkan_fault(api.GetPipelineCacheData(device_.handle(), cache_, &bytes, nullptr),
                               "vkGetPipelineCacheData");
  if (!status.ok()) return status;
  auto* data = static_cast<uint8_t*>(
      allocator_.allocate(allocator_.context, bytes, alignof(std::max_align_t)));
  if (data == nullptr)
    return Status(Error::kOutOfMemory, "no memory for the data of a pipeline cache");
  status = write(data, bytes);
  allocator_.release(allocator_.context, data);
  return status;
}

Status VulkanPipelines::write(uint8_t* data, size_t bytes) {
  LAZYRT_RETURN_IF_ERROR(
      vulkan_fault(device_.api().GetPipelineCacheData(device_.handle(), cache_, &bytes, data),
                   "vkGetPipelineCacheData"));
  const uint64_t checksum = Checksum64::of(data, bytes);
  if (checksum == kept_checksum_) return {};
  const Status status = kept_.write(VulkanCache::Kind::kPipelines, 0, {data, bytes}, allocator_);
  if (status.ok()) kept_checksum_ = checksum;
  return status;
}

size_t VulkanPipelines::count() {
  const Lock lock(mutex_);
  return pipelines_.size();
}

Fault VulkanPipelines::find_or_make(const Shader& shader, Span<const uint32_t> constants,
                                    VkPipeline* pipeline) {
  const Lock lock(mutex_);
  for (const Made& made : pipelines_) {
    if (made.shader == &shader && std::equal(constants.begin(), constants.end(), made.constants,
                                             made.constants + made.constant_count)) {
      *pipeline = made.pipeline;
      return {};
    }
  }
  Made made = {&shader, static_cast<uint32_t>(constants.size()), {}, VK_NULL_HANDLE};
  for (size_t i = 0; i < constants.size(); ++i) made.constants[i] = constants[i];
  LAZYRT_RETURN_IF_ERROR(make(&made).with_context("shader %s", shader.name));
  const Fault kept = pipelines_.append(made);
  if (!kept.ok()) {
    device_.api().DestroyPipeline(device_.handle(), made.pipeline, nullptr);
    return kept;
  }
  *pipeline = made.pipeline;
  return {};
}

Fault VulkanPipelines::make(Made* made) const {
  const VulkanApi& api = device_.api();
  VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = made->shader->bytes;
  module_info.pCode = made->shader->code;
  VkShaderModule module = VK_NULL_HANDLE;
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateShaderModule, device_.handle(), &module_info, nullptr,
                            &module);
  VkSpecializationMapEntry entries[kMostConstants];
  for (uint32_t i = 0; i < made->constant_count; ++i)
    entries[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
  const VkSpecializationInfo constants = {made->constant_count, entries,
                                          made->constant_count * sizeof(uint32_t), made->constants};
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_;
  const VkResult result =
      api.CreateComputePipelines(device_.handle(), cache_, 1, &info, nullptr, &made->pipeline);
  api.DestroyShaderModule(device_.handle(), module, nullptr);
  return vulkan_fault(result, "vkCreateComputePipelines");
}

}  // namespace lazyrt
