// Conformance cases on Vulkan against the reference, under the validation layers.
// VULKAN_OPS=op,op runs those operators; without it, each that has a kernel for Vulkan.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lazyrt/vulkan.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/support/case_bundle.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

/// What the validation layers say, in a file of this process.
class Messages {
 public:
  Messages() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/vk_layer_settings.txt")
        << "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
        << "khronos_validation.report_flags = error,warn\n"
        << "khronos_validation.log_filename = " << file_ << "\n"
        << "khronos_validation.enables = "
           "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n";
    setenv("VK_LAYER_SETTINGS_PATH", folder_.c_str(), 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
  }
  ~Messages() { std::filesystem::remove_all(folder_); }

  std::string take() {
    std::ifstream in(file_);
    in.seekg(static_cast<std::streamoff>(read_));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    read_ += text.size();
    return text;
  }

 private:
  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("vulkan_test." + std::to_string(getpid()));
  const std::string file_ = folder_ + "/messages.txt";
  size_t read_ = 0;
};

bool is_wanted(const OpEntry& op) {
  const char* names = std::getenv("VULKAN_OPS");
  if (names == nullptr) return op.kernels[static_cast<size_t>(KernelSlot::kVulkan)] != nullptr;
  return ("," + std::string(names) + ",").find("," + std::string(op.name) + ",") !=
         std::string::npos;
}

/// Empty, or what is wrong with the second run of the case.
std::string run_case(const CaseNode& node, const OpCase& c, Session* session) {
  const CaseResult expected = run_kernel(node, node.op.def->reference, nullptr);
  size_t input = 0;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (!c.operands[i].is_given()) continue;
    const TensorView& x = node.operands[i].view();
    const Status set = session->set_input(input++, x.data, x.bytes());
    if (!set.ok()) return set.message();
  }
  for (int round = 0; round < 2; ++round) {
    const Status status = session->run();
    if (status.error() != expected.status.error())
      return std::string("status: ") + status.message() +
             "; reference: " + expected.status.message();
  }
  for (size_t i = 0; expected.status.ok() && i < node.outputs.size(); ++i) {
    const TensorSpec& spec = node.outputs[i];
    const GuardedTensor actual(spec.dtype, spec.shape);
    if (spec.bytes() != 0)
      std::memcpy(actual.view().data, session->output(i)->as<const char>(), spec.bytes());
    const std::string text = difference(expected.outputs[i], actual, c.tolerance);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  return "";
}

class VulkanCases : public testing::TestWithParam<int> {};

TEST_P(VulkanCases, AgreeWithReference) {
  static Messages messages;
  VulkanOptions options;
  options.mask_to_floor = GetParam() == 1;
  options.force_staging = GetParam() == 2;
  Result<VulkanBackend> made = VulkanBackend::create(options);
  if (!made.ok() && made.status().error() == Error::kUnsupported)
    GTEST_SKIP() << made.status().message();
  ASSERT_TRUE(made.ok()) << made.status().message();
  SessionOptions on_it;
  on_it.backend = made->backend();
  size_t ran = 0, refused = 0;
  for (const CaseRef& ref : case_refs()) {
    if (!is_wanted(*ref.op)) continue;
    SCOPED_TRACE(ref.id());
    const OpCase& c = *ref.op_case;
    const CaseNode node(*ref.op, c, conformance_seed());
    test::BundleParts parts;
    test::MethodBuilder method(&parts);
    test::add_case_node(&method, default_ops(), c,
                        [&](size_t i) { return node.operands[i].view().data; });
    const test::Loaded loaded(parts, default_ops());
    Result<Session> session = Session::create(loaded.method(), on_it);
    if (!session.ok()) {
      EXPECT_EQ(session.status().error(), Error::kUnsupported) << session.status().message();
      if (GetParam() == 0)
        std::printf("refused %s: %s\n", ref.id().c_str(), session.status().message());
      ++refused;
      continue;
    }
    ++ran;
    EXPECT_EQ(run_case(node, c, &*session), "");
    EXPECT_EQ(messages.take(), "");
  }
  std::printf("%zu cases, %zu refused, %zu pipelines\n", ran, refused, made->pipeline_count());
  EXPECT_NE(ran, 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, VulkanCases, testing::Values(0, 1, 2));

}  // namespace
}  // namespace lazyrt
