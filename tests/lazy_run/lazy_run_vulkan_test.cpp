// lazy-run on devices of Vulkan: which there are, and whether they are to be trusted.

#include "lazyrt/backend_choice.h"
#include "tests/lazy_run/lazy_run_testing.h"

namespace lazyrt {
namespace {

using test::Json;
using test::LazyRun;
using test::Outcome;
using testing::HasSubstr;

TEST_F(LazyRun, SelfTestIsOfVulkan) {
  const Outcome o = run(at("m.lzb") + " --self-test");
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("--self-test: needs --backend vulkan or auto"));
}

TEST_F(LazyRun, ABundleIsNeededUnlessDevicesAreListed) {
  EXPECT_EQ(run("--json").code, 1);
  EXPECT_EQ(run("--list-devices").code, 0);
}

#if LAZYRT_HAS_VULKAN

TEST_F(LazyRun, ListsDevices) {
  const Outcome text = run("--list-devices");
  EXPECT_EQ(text.code, 0) << text.err;
  const Json json = run("--list-devices --json").json();
  EXPECT_EQ(json["reason"], "");
  ASSERT_FALSE(json["devices"].empty());
  for (size_t i = 0; i < json["devices"].size(); ++i) {
    const Json device = json["devices"][i];
    EXPECT_EQ(device["device"], i);
    EXPECT_EQ(device["usable"], device["reason"] == "") << device;
    EXPECT_GE(device["operand_bytes"], 1 << 27);
    EXPECT_THAT(text.out, HasSubstr(std::to_string(i) + "  " + device["name"].get<std::string>()));
  }
}

TEST_F(LazyRun, SaysWhyThereAreNoDevices) {
  setenv("VK_ICD_FILENAMES", "/no/such/driver.json", 1);
  setenv("VK_DRIVER_FILES", "/no/such/driver.json", 1);
  const Outcome text = run("--list-devices");
  const Json json = run("--list-devices --json").json();
  const Outcome refused = run(at("m.lzb") + " --backend vulkan");
  const Outcome on_cpu = run(at("m.lzb") + " --backend auto --self-test");
  unsetenv("VK_ICD_FILENAMES");
  unsetenv("VK_DRIVER_FILES");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out, "no devices: there is no driver of Vulkan on this system\n");
  EXPECT_TRUE(json["devices"].empty());
  EXPECT_NE(json["reason"], "");
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("there is no driver of Vulkan"));
  EXPECT_EQ(on_cpu.code, 0) << on_cpu.err;
}

TEST_F(LazyRun, ADeviceThatPassesTheSelfTestRunsAll) {
  for (int process = 0; process < 2; ++process) {
    const Outcome o =
        run(at("m.lzb") + " --backend vulkan --self-test --cache " + at("a/cache") + " --json");
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("passed"));
    EXPECT_TRUE(o.json()["self_test"]["refused"].empty());
    EXPECT_NE(o.json()["self_test"]["device"], "");
    size_t verdicts = 0;
    for (const auto& entry : test::fs::directory_iterator(at("a/cache")))
      verdicts += entry.path().extension() == ".verdict" ? 1 : 0;
    EXPECT_EQ(verdicts, 1u);
  }
}

/// A verdict as a self-test on a driver with a wrong shader leaves it.
TEST_F(LazyRun, WhatFailedTheSelfTestRunsOnTheCpuAndIsNamed) {
  test::fs::create_directories(at("cache"));
  const std::string folder = at("cache");
  {
    VulkanOptions options;
    options.cache_folder = folder.c_str();
    Result<VulkanBackend> backend = VulkanBackend::create(options);
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    const Result<Program> program = Program::open(at("m.lzb").c_str(), default_ops());
    ASSERT_TRUE(program.ok());
    ASSERT_TRUE(backend->refuse("unary").ok());
    ASSERT_TRUE(backend->keep_verdict(program->checksum()).ok());
  }
  const Outcome o =
      run(at("m.lzb") + " --backend vulkan --self-test --cache " + folder + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, HasSubstr("the cpu runs unary"));
  EXPECT_EQ(o.json()["self_test"]["refused"], Json({"unary"}));
  const Json nodes = o.json()["reference_nodes"];
  ASSERT_EQ(nodes.size(), 1u) << nodes;
  EXPECT_EQ(nodes[0]["op"], "unary");
  EXPECT_EQ(nodes[0]["backend"], "cpu");
  EXPECT_THAT(nodes[0]["reason"].get<std::string>(), HasSubstr("failed the self-test"));
  const Outcome untested = run(at("m.lzb") + " --backend vulkan --cache " + folder + " --json");
  EXPECT_TRUE(untested.json()["reference_nodes"].empty()) << "only where it is asked for";
}

TEST_F(LazyRun, ACacheThatCannotBeReadIsSaid) {
  const std::string run_it = at("m.lzb") + " --backend vulkan --cache " + at("cache");
  ASSERT_EQ(run(run_it).code, 0);
  for (const auto& entry : test::fs::directory_iterator(at("cache")))
    std::ofstream(entry.path()) << "damaged";
  const Outcome damaged = run(run_it);
  EXPECT_EQ(damaged.code, 0);
  EXPECT_THAT(damaged.err, HasSubstr("is not used: it is too short"));
  EXPECT_EQ(run(run_it).err, "") << "it was replaced";
  for (const auto& entry : test::fs::directory_iterator(at("cache")))
    test::fs::remove(entry.path());
  const Outcome full_disk = run_limited(run_it, 0);
  EXPECT_EQ(full_disk.code, 0);
  EXPECT_THAT(full_disk.err, HasSubstr("cannot write"));
  EXPECT_TRUE(test::fs::is_empty(at("cache")));
  write("file", "x", 1);
  EXPECT_EQ(run(at("m.lzb") + " --backend vulkan --cache " + at("file")).code, 3);
}

#endif

}  // namespace
}  // namespace lazyrt
