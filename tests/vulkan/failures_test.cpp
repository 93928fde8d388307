// The first and the last call of each function that returns a VkResult are made to fail, alone as
// if memory ended, and with all that follow as if the device were lost; where a run is divided, all
// submissions, too.

#include <map>
#include <set>

#include "tests/vulkan/failing_api.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::Loaded;
using test::Mode;

constexpr int64_t kCount = 6;
constexpr float kStep = 2;

/// What is tried: copies through staging memory or none, a run as one submission or as four.
struct Try {
  Mode mode;
  bool is_divided;
};

/// sum + x -> sum, a state that begins at 0; y is what it becomes, by way of three nodes more.
BundleParts counting_bundle() {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {1, kCount});
  const int sum = b.state("sum", DType::kFloat32, {1, kCount});
  const int next = b.infer(default_ops(), test::add(), {sum, x});
  b.method().states[0]->next = next;
  const std::vector<float> zeros(kCount);
  const int zero = b.constant("zero", DType::kFloat32, {1, kCount}, zeros.data());
  int y = next;
  for (int i = 0; i < 3; ++i) y = b.infer(default_ops(), test::add(), {y, zero});
  b.output("y", y);
  return parts;
}

/// How a program fared that makes a backend and a session and runs it three times.
struct Outcomes {
  Status create, session, run[3];
  float sums[3] = {};
};

Status run_once(Session* session, float* sum) {
  const std::vector<float> x(kCount, kStep);
  Status status = session->set_input(0, x.data(), x.size() * sizeof(float));
  if (status.ok()) status = session->run();
  if (status.ok()) *sum = session->output(0)->as<float>()[kCount - 1];
  return status;
}

Outcomes use(const Try& what) {
  Outcomes out;
  VulkanOptions vulkan = test::options_of(what.mode);
  vulkan.submission_work = what.is_divided ? 1 : 0;
  vulkan.get_instance_proc_addr = test::failing_vulkan();
  Result<VulkanBackend> backend = VulkanBackend::create(vulkan);
  out.create = backend.status();
  if (!backend.ok()) return out;
  const Loaded loaded(counting_bundle(), default_ops());
  SessionOptions options;
  options.backend = backend->backend();
  options.profile = true;
  Result<Session> session = Session::create(loaded.method(), options);
  out.session = session.status();
  if (!session.ok()) return out;
  for (int i = 0; i < 3; ++i) out.run[i] = run_once(&*session, &out.sums[i]);
  return out;
}

std::string first_error(const Outcomes& out) {
  for (const Status* status : {&out.create, &out.session, &out.run[0], &out.run[1], &out.run[2]}) {
    if (!status->ok()) return status->message();
  }
  return "";
}

/// The failure is reported, unless the wait is tried another way. A run that failed has changed no
/// state: the runs that succeed count on.
void check(const Outcomes& out, uint64_t call) {
  const std::string function = test::failed_vulkan_function(), error = first_error(out);
  SCOPED_TRACE("call " + std::to_string(call) + ", vk" + function + ": " + error);
  if (function != "WaitForFences" && function != "ResetFences") {
    EXPECT_THAT(error, testing::HasSubstr("vk" + function));
  } else if (!error.empty()) {
    EXPECT_THAT(error, testing::HasSubstr("vk"));
  }
  if (!out.create.ok() || !out.session.ok()) return;
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    if (!out.run[i].ok()) continue;
    EXPECT_EQ(out.sums[i], sum += kStep) << "run " << i;
  }
}

class VulkanFailing : public testing::TestWithParam<Try> {};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanFailing,
                         testing::Values(Try{Mode::kAsItIs, false}, Try{Mode::kStaging, false},
                                         Try{Mode::kStaging, true}),
                         [](const auto& test) {
                           return test::mode_name(test.param.mode) +
                                  (test.param.is_divided ? "_divided" : "");
                         });

TEST_P(VulkanFailing, EveryFunctionMayFail) {
  test::fail_vulkan({});
  const Outcomes right = use(GetParam());
  ASSERT_EQ(first_error(right), "");
  EXPECT_EQ(right.sums[2], 3 * kStep);
  std::map<std::string, std::pair<uint64_t, uint64_t>> calls;  // first and last of each function
  for (uint64_t i = 0; i < test::vulkan_calls().size(); ++i)
    calls.try_emplace(test::vulkan_calls()[i], i, i).first->second.second = i;
  EXPECT_GT(calls.size(), 20U);
  std::set<uint64_t> failing;
  for (const auto& [name, call] : calls) failing.insert({call.first, call.second});
  for (uint64_t i = 0; GetParam().is_divided && i < test::vulkan_calls().size(); ++i) {
    if (test::vulkan_calls()[i] == std::string("QueueSubmit")) failing.insert(i);
  }
  for (const uint64_t call : failing) {
    test::fail_vulkan({call, false, VK_ERROR_OUT_OF_DEVICE_MEMORY});
    check(use(GetParam()), call);
    test::fail_vulkan({call, true, VK_ERROR_DEVICE_LOST});
    check(use(GetParam()), call);
  }
  test::fail_vulkan({});
  EXPECT_EQ(test::new_validation_messages(), "");
}

}  // namespace
}  // namespace lazyrt
