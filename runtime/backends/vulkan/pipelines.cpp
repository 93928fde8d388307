#include "runtime/backends/vulkan/pipelines.h"

#include <algorithm>

namespace lazyrt {

VulkanPipelines::~VulkanPipelines() {
  const VulkanApi& api = device_.api();
  for (const Made& made : pipelines_) api.DestroyPipeline(device_.handle(), made.pipeline, nullptr);
  if (cache_ != VK_NULL_HANDLE) api.DestroyPipelineCache(device_.handle(), cache_, nullptr);
  if (layout_ != VK_NULL_HANDLE) api.DestroyPipelineLayout(device_.handle(), layout_, nullptr);
  if (set_layout_ != VK_NULL_HANDLE)
    api.DestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
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
  const VkPipelineCacheCreateInfo cache = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  LAZYRT_VK_RETURN_IF_ERROR(api, CreatePipelineCache, device_.handle(), &cache, nullptr, &cache_);
  return {};
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
