#include "tests/fuzz/fast_backend.h"

#include <cstdio>
#include <cstdlib>

#if LAZYRT_HAS_VULKAN
#include "lazyrt/vulkan.h"
#endif

namespace lazyrt::fuzz {
namespace {

const Backend* chosen_backend() {
  const char* chosen = std::getenv("LAZYRT_FUZZ_VULKAN");
  if (chosen == nullptr || *chosen == '\0' || *chosen == '0') return cpu_backend();
#if LAZYRT_HAS_VULKAN
  VulkanOptions options;
  options.fallback = reference_backend();
  options.mask_to_floor = true;
  static const auto* made = new Result<VulkanBackend>(VulkanBackend::create(options));
  if (made->ok()) return (*made)->backend();
  std::fprintf(stderr, "LAZYRT_FUZZ_VULKAN: %s\n", made->status().message());
#else
  std::fprintf(stderr, "LAZYRT_FUZZ_VULKAN: this build has no Vulkan\n");
#endif
  std::exit(2);
}

}  // namespace

const Backend* fast_backend() {
  static const Backend* backend = chosen_backend();
  return backend;
}

}  // namespace lazyrt::fuzz
