#include "host_tracer/trace/allow.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lazyrt {
namespace {

Trace with_finding(const std::string& file, int line, Severity severity = Severity::kError) {
  Trace trace;
  Finding finding;
  finding.severity = severity;
  finding.id = "baked-value";
  finding.source.file = file;
  finding.source.line = line;
  trace.findings.push_back(finding);
  return trace;
}

Verdict verdict_with(Trace trace, const std::vector<std::string>& texts) {
  const auto done = allow_findings(trace, texts);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.failure().text);
  return verdict_of(trace);
}

TEST(Allow, ByIdAndByLine) {
  const Trace trace = with_finding("/a/b/model.py", 31);
  EXPECT_EQ(verdict_with(trace, {}), Verdict::kBroken);
  EXPECT_EQ(verdict_with(trace, {"random"}), Verdict::kBroken);
  for (const char* good : {"baked-value", "baked-value@model.py:31", "baked-value@b/model.py:31",
                           "baked-value@/a/b/model.py:31"}) {
    EXPECT_EQ(verdict_with(trace, {"random", good}), Verdict::kAllowed) << good;
  }
  for (const char* other : {"baked-value@model.py:3", "baked-value@odel.py:31",
                            "baked-value@c/model.py:31", "random@model.py:31"}) {
    EXPECT_EQ(verdict_with(trace, {other}), Verdict::kBroken) << other;
  }
}

TEST(Allow, OnlyErrorsAreLetThrough) {
  EXPECT_EQ(verdict_with(with_finding("m.py", 1, Severity::kWarning), {"baked-value"}),
            Verdict::kSpecialized);
  EXPECT_EQ(verdict_with(with_finding("m.py", 1, Severity::kNote), {"baked-value"}),
            Verdict::kSound);
}

TEST(Allow, CommentsOfCpp) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("lazyrt_allow_" + std::to_string(getpid()) + ".cpp");
  std::ofstream(path) << "f(x.item());  // lazyrt: allow baked-value\n"
                         "f(x.item());\n"
                         "  // lazyrt: allow random, baked-value: fixed\n"
                         "  // lazyrt: allow random, baked-value\n"
                         "f(x.item());\n"
                         "f(\"lazyrt: allow baked-value\", x.item());\n";
  const auto verdict = [&](int line) { return verdict_with(with_finding(path, line), {}); };
  EXPECT_EQ(verdict(1), Verdict::kAllowed);
  EXPECT_EQ(verdict(2), Verdict::kBroken);
  EXPECT_EQ(verdict(4), Verdict::kAllowed);
  EXPECT_EQ(verdict(5), Verdict::kAllowed);
  EXPECT_EQ(verdict(6), Verdict::kBroken);
  EXPECT_EQ(verdict(7), Verdict::kBroken);
  std::filesystem::remove(path);
}

TEST(Allow, EntriesThatAreNone) {
  for (const char* bad :
       {"", "no-such", "no-such@a.py:1", "baked-value@", "baked-value@a.py",
        "baked-value@a.py:", "baked-value@:1", "baked-value@a.py:-1", "baked-value@a.py:1e3",
        "baked-value,random", "baked-value@a.py:4,baked-value@b.py:5", "baked-value@a.py:4@b.py:5",
        "baked-value@a.py:4:5"}) {
    const auto parsed = parse_allowances({"random", bad});
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.failure().error, Error::kInvalidArgument) << bad;
  }
}

TEST(Allow, IdleEntriesAreNamed) {
  Trace trace = with_finding("m.py", 7);
  const std::vector<std::string> texts = {"baked-value@m.py:7", "baked-value@m.py:8", "random"};
  ASSERT_TRUE(allow_findings(trace, texts).ok());
  const auto idle = idle_allowances(texts, trace.findings);
  ASSERT_EQ(idle.size(), 2u);
  EXPECT_NE(idle[0].find("baked-value@m.py:8"), std::string::npos);
  EXPECT_NE(idle[1].find("random"), std::string::npos);
}

TEST(Allow, TheWorstVerdictOfSeveralTraces) {
  Trace guarded, allowed = with_finding("m.py", 7);
  guarded.values.emplace_back();
  guarded.guards.emplace_back().value = 0;
  ASSERT_TRUE(allow_findings(allowed, std::vector<std::string>{"baked-value"}).ok());
  EXPECT_EQ(verdict_of(std::vector<Trace>{Trace(), guarded}), Verdict::kSpecialized);
  EXPECT_EQ(verdict_of(std::vector<Trace>{allowed, guarded, Trace()}), Verdict::kAllowed);
}

}  // namespace
}  // namespace lazyrt
