#pragma once

// Runs nodes on a GPU through Vulkan: pass backend() as SessionOptions::backend.

#include "lazyrt/error.h"
#include "lazyrt/runtime.h"
#include "lazyrt/self_test.h"

// The handles of vulkan.h, which need not be included for this header.
struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;

namespace lazyrt {

/// PFN_vkGetInstanceProcAddr
using VulkanFunctionFinder = void (*(*)(VkInstance_T*, const char*))();

/// A device that the app has made and owns, given by its Vulkan handles. All of them must outlive
/// the backend, which destroys none of them and waits only for its own work.
struct VulkanAppDevice {
  VulkanFunctionFinder get_instance_proc_addr = nullptr;
  VkInstance_T* instance = nullptr;  ///< created for Vulkan 1.1 or newer
  VkPhysicalDevice_T* physical_device = nullptr;
  VkDevice_T* device = nullptr;  ///< with robustBufferAccess, unless all bundles are trusted
  VkQueue_T* queue = nullptr;    ///< of the family `queue_family`, which must compute
  uint32_t queue_family = 0;
  /// Called before and after the backend submits to the queue (or waits for it to be idle, after an
  /// error), with `context`: Vulkan allows one thread at a time. nullptr: nobody else uses the
  /// queue.
  void (*lock)(void* context) = nullptr;
  void (*unlock)(void* context) = nullptr;
  void* context = nullptr;
};

/// The default of VulkanOptions::submission_work. It takes half a second on a GPU that does 10^10
/// multiply-adds or moves 1.25 * 10^9 elements a second, our estimate of the slowest phones.
constexpr uint64_t kDefaultSubmissionWork = 5'000'000'000;

struct VulkanOptions {
  /// The number of the system's device to use; -1: the fastest kind.
  int device = -1;
  /// Runs on the app's device instead; nullptr: the backend makes a device of its own.
  const VulkanAppDevice* app_device = nullptr;
  /// Runs what the device refuses; nullptr: nothing does, and models with such nodes are refused.
  const Backend* fallback = nullptr;
  /// vkGetInstanceProcAddr, for apps that have loaded Vulkan themselves or link it (MoltenVK);
  /// nullptr: that of the system's loader, which is found at run time.
  VulkanFunctionFinder get_instance_proc_addr = nullptr;
  /// A folder of the app, which must exist, for what is kept between processes: compiled pipelines
  /// and verdicts of self-tests. Files that are damaged, or of another device, driver or build of
  /// LazyRT, are not used but replaced. nullptr: nothing is kept.
  const char* cache_folder = nullptr;
  /// The most work of one submission: the steps that LoadOptions::work_limit counts, plus 8 for
  /// each element of operands and results; 0 = kDefaultSubmissionWork. A run with more work is
  /// divided between its nodes (never within one) into several submissions, of which at most two
  /// are queued at a time. This keeps a system's watchdog from stopping the device and lets other
  /// users of the queue in. Between submissions the run can be cancelled, and its deadline is
  /// checked.
  uint64_t submission_work = 0;
  /// For tests: uses only the limits that every device has.
  bool mask_to_floor = false;
  /// For tests: copies through staging memory even if the host shares the device's memory.
  bool force_staging = false;
};

/// A device of this system, as its driver describes it.
struct VulkanDeviceInfo {
  char name[256] = "";
  const char* type = "";       ///< "discrete", "integrated", "virtual", "cpu" or "other"
  char driver[520] = "";       ///< its name and version in its own words; empty: it gives none
  char api_version[16] = "";   ///< of Vulkan: "1.3.230"
  uint64_t memory_bytes = 0;   ///< of the device's own memory, which may be the host's
  bool shares_memory = false;  ///< with the host: a run copies nothing
  bool has_clock = false;      ///< a profile has times of single nodes
  // What the backend uses of its limits, each at least Vulkan 1.1's minimum.
  uint64_t operand_bytes = 0;  ///< 128 MiB
  uint64_t block_bytes = 0;    ///< 1 GiB
  uint32_t group_size = 0;     ///< 128 invocations
  uint32_t shared_bytes = 0;   ///< 16 KiB of a workgroup's shared memory
  /// kUnsupported: the backend cannot run on it; the message says what it lacks.
  Status status;
};

/// Describes device `number` of this system, from 0. kNotFound: there are fewer. kUnsupported:
/// there is no Vulkan 1.1.
Result<VulkanDeviceInfo> describe_vulkan_device(int number);

/// What a backend has done so far.
struct VulkanStatistics {
  uint64_t pipelines = 0;
  uint64_t submissions = 0;  ///< one for a run, or several (VulkanOptions::submission_work)
  uint64_t waits = 0;        ///< for submissions; one for a run of one submission
  uint64_t dispatches = 0;
  /// Bytes copied from the host to the device and back; none if they share memory.
  uint64_t bytes_in = 0, bytes_out = 0;
  uint64_t memory_bytes = 0;  ///< of buffers that there are now
};

class VulkanBackendState;

/// A Vulkan device with its pipelines, which all sessions on it share. Must outlive the Programs
/// that have run on it.
class VulkanBackend {
 public:
  /// kUnsupported: there is no Vulkan 1.1 or no such device.
  static Result<VulkanBackend> create(const VulkanOptions& options = {});
  VulkanBackend(VulkanBackend&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  VulkanBackend& operator=(VulkanBackend&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~VulkanBackend();

  const Backend* backend() const;
  /// The device's name, as its driver says it.
  const char* device_name() const;
  VulkanStatistics statistics() const;

  /// Writes the pipelines made so far to VulkanOptions::cache_folder, if they are not there yet.
  /// The destructor does so, too; an app that may be killed should call it after its first run. An
  /// error is also in cache_status().
  Status save_pipelines();
  /// The last error with a file in VulkanOptions::cache_folder; runs go on without the file. It is
  /// also logged.
  Status cache_status() const;

  /// Makes sessions that are created from now on run this operator, given by its name, on the
  /// fallback; "" means all operators. kInvalidArgument: too many operators are refused.
  Status refuse(const char* op);
  size_t refused_count() const;
  /// REQUIRES: i < refused_count(). Lives as long as the backend.
  const char* refused(size_t i) const;

  /// Refuses the operators that keep_verdict saved for this bundle, by its Program::checksum(), on
  /// this device, driver and build. Returns false if VulkanOptions::cache_folder has no such file.
  bool recall_verdict(uint64_t bundle);
  /// Saves the list of refused operators in VulkanOptions::cache_folder. An error is also in
  /// cache_status().
  Status keep_verdict(uint64_t bundle);

 private:
  VulkanBackend() = default;
  VulkanBackendState* state_ = nullptr;
};

/// Tests the device with the bundle's samples before anything else runs there. An operator with a
/// wrong result is refused from then on, and the samples run again; if the operator cannot be
/// named, all operators are refused. If all is right, each sample runs twice; nothing runs if an
/// earlier process saved its verdict. `trusted`, such as cpu_backend(), gives the values to compare
/// with. Errors are those of self_test for a method. Must be called before sessions are made.
inline Status self_test(VulkanBackend* backend, const Program& program, const Backend* trusted) {
  if (backend->recall_verdict(program.checksum())) return {};
  SelfTestOptions options;
  options.session.backend = backend->backend();
  options.trusted = trusted;
  for (size_t i = 0; i < program.method_count();) {
    const Method method = program.method(i);
    const Result<SelfTestResult> result = self_test(method, options);
    if (!result.ok()) return result.status();
    if (result->ok) {
      ++i;
      continue;
    }
    const size_t refused = backend->refused_count();
    const bool is_new = result->is_located && backend->refuse(result->point.op).ok() &&
                        backend->refused_count() > refused;
    if (is_new) continue;
    const Status all = backend->refuse("");
    if (!all.ok()) return all;
    break;
  }
  (void)backend->keep_verdict(program.checksum());
  return {};
}

}  // namespace lazyrt
