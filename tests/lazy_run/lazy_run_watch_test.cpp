// lazy-run --tap and --trace, and what stays of files that cannot be written.

#include "tests/lazy_run/lazy_run_testing.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::LazyRun;
using test::Outcome;
using test::read;
using testing::HasSubstr;
using testing::Not;

TEST_F(LazyRun, TapsAreToldAndWritten) {
  write_inputs();
  const Outcome o =
      run(at("m.lzb") + inputs() + " --tap binary --tap %5 --output-dir " + at("out") + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json taps = o.json()["taps"];
  ASSERT_EQ(taps.size(), 2u) << taps;
  EXPECT_EQ(taps[0]["name"], "binary");
  EXPECT_EQ(taps[0]["node"], 1);
  EXPECT_EQ(taps[0]["shape"], Json({2, 3}));
  EXPECT_EQ(taps[0]["file"], at("out/taps/binary.npy"));
  EXPECT_LT(taps[0]["min"], 0) << "before relu is done over it";
  EXPECT_EQ(taps[1]["name"], "unary");
  EXPECT_EQ(taps[1]["min"], 0);
  const std::string y(reinterpret_cast<const char*>(test::kExampleY), sizeof(test::kExampleY));
  EXPECT_THAT(read(at("out/taps/unary.npy")), testing::EndsWith(y));
  const Outcome text = run(at("m.lzb") + " --tap '*' --backend reference");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("tap index_select f32[2,3] min "));
  EXPECT_EQ(run(at("m.lzb") + " --bench 0.01 --tap 2").code, 0);
}

TEST_F(LazyRun, ATapThatMeansNothingIsNamed) {
  const Outcome o = run(at("m.lzb") + " --tap unary --tap relu");
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("nothing is called 'relu'"));
}

TEST_F(LazyRun, ATraceIsTraceEventJson) {
  for (const char* how : {"", " --bench 0.01", " --backend reference"}) {
    const Outcome o = run(at("m.lzb") + how + " --trace " + at("trace.json"));
    ASSERT_EQ(o.code, 0) << o.err;
    const Json trace = Json::parse(read(at("trace.json")));
    EXPECT_EQ(trace["displayTimeUnit"], "ms");
    EXPECT_EQ(trace["otherData"]["bundle"], at("m.lzb"));
    std::map<std::string, int> names;
    double end_of_load = -1;
    std::vector<std::pair<double, double>> runs;
    for (const Json& event : trace["traceEvents"]) {
      ASSERT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer()) << event;
      ASSERT_TRUE(event["name"].is_string() && event["ts"].is_number()) << event;
      if (event["ph"] == "M") continue;
      ASSERT_EQ(event["ph"], "X");
      const double ts = event["ts"], dur = event["dur"];
      ASSERT_GE(ts, 0);
      ASSERT_GE(dur, 0);
      ++names[event["name"]];
      if (event["name"] == "load") end_of_load = ts + dur;
      if (event["name"] == "run") runs.emplace_back(ts, ts + dur);
    }
    ASSERT_FALSE(runs.empty());
    for (const char* node : {"index_select", "binary", "unary"})
      EXPECT_EQ(names[node], static_cast<int>(runs.size())) << how;
    EXPECT_GE(runs[0].first, end_of_load);
    for (const Json& event : trace["traceEvents"]) {  // nodes lie within a run
      if (!event.contains("cat") || event["cat"] != "node") continue;
      const double ts = event["ts"], end = ts + event["dur"].get<double>();
      EXPECT_TRUE(event["args"]["backend"].is_string());
      const bool inside = std::any_of(runs.begin(), runs.end(), [&](const auto& run) {
        return run.first <= ts && end <= run.second + 1e-3;
      });
      EXPECT_TRUE(inside) << event;
    }
  }
}

TEST_F(LazyRun, ATraceOfARunThatFailsIsWritten) {
  write_inputs();
  const int64_t bad[2] = {0, 3};
  write_npy("ids.npy", "<i8", "(2,)", bad, sizeof(bad));
  EXPECT_EQ(run(at("m.lzb") + inputs() + " --trace " + at("trace.json")).code, 5);
  const Json trace = Json::parse(read(at("trace.json")));
  const bool failed =
      std::any_of(trace["traceEvents"].begin(), trace["traceEvents"].end(), [](const Json& event) {
        return event["name"] == "index_select" && event["args"].contains("failed");
      });
  EXPECT_TRUE(failed);
}

/// Files that cannot grow beyond a block, as on a disk that is full.
TEST_F(LazyRun, OfAFullDiskNothingHalfWrittenStays) {
  write_inputs();
  const std::string before(3000, 'x');
  for (const char* arguments :
       {" --output-dir OUT", " --raw-output OUT/y.raw", " --tap '*' --output-dir OUT",
        " --trace OUT/trace.json", " --bench 0.01 --trace OUT/trace.json"}) {
    fs::remove_all(at("out"));
    fs::create_directories(at("out/taps"));
    for (const char* old : {"out/y.npy", "out/y.raw", "out/trace.json"})
      write(old, before.data(), before.size());
    std::string text = arguments;
    text.replace(text.find("OUT"), 3, at("out"));
    const Outcome o = run_limited(at("m.lzb") + inputs() + text, 0);
    EXPECT_EQ(o.code, 3) << arguments << o.err;
    EXPECT_THAT(o.err, HasSubstr("cannot write '" + at("out"))) << arguments;
    for (const char* old : {"out/y.npy", "out/y.raw", "out/trace.json"})
      EXPECT_EQ(read(at(old)), before) << arguments << ": " << old;
    for (const auto& entry : fs::recursive_directory_iterator(at("out")))
      EXPECT_THAT(entry.path().string(), Not(HasSubstr("partial"))) << arguments;
  }
}

/// Where nobody may create a file, not even root.
TEST_F(LazyRun, AFolderThatCannotBeWrittenIsNamed) {
  if (!fs::is_directory("/proc/self")) GTEST_SKIP() << "needs /proc, where nothing can be created";
  write_inputs();
  for (const char* arguments :
       {" --output-dir /proc/self", " --raw-output /proc/self/y.raw",
        " --tap '*' --output-dir /proc/self", " --trace /proc/self/t.json"}) {
    const Outcome o = run(at("m.lzb") + inputs() + arguments);
    EXPECT_EQ(o.code, 3) << arguments;
    EXPECT_THAT(o.err, HasSubstr("cannot create '/proc/self/")) << arguments;
  }
}

TEST_F(LazyRun, WhatIsNoRegularFileIsWrittenInPlace) {
  write_inputs();
  write("file", "old", 3);
  fs::create_symlink(at("file"), at("link"));
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  const std::string y(reinterpret_cast<const char*>(test::kExampleY), sizeof(test::kExampleY));
  const Outcome linked = run(at("m.lzb") + inputs() + " --raw-output " + at("link"));
  EXPECT_EQ(linked.code, 0) << linked.err;
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("file")), y);
  std::thread reader([&] { EXPECT_EQ(read(at("pipe")), y); });
  EXPECT_EQ(run(at("m.lzb") + inputs() + " --raw-output " + at("pipe")).code, 0);
  reader.join();
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  fs::create_symlink("/dev/full", at("full"));
  const Outcome full = run(at("m.lzb") + inputs() + " --raw-output " + at("full"));
  EXPECT_EQ(full.code, 3);
  EXPECT_THAT(full.err, HasSubstr("cannot write '" + at("full") + "': No space left"));
}

}  // namespace
}  // namespace lazyrt
