// Verdicts, and what the reports say.

#include "platforms/posix/conformance/results.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lazyrt::conformance {
namespace {

Outcome outcome(Outcome::Kind kind) { return {kind, 0.25, 2, "what \"was\" <said>"}; }

Verdict verdict(Outcome::Kind kind, Expectation::Kind expected) {
  static const Case c = {"ops/relu/zero", "", "", {}, "", {}};
  return judged(c, "cpu", outcome(kind), {expected, "why"}).verdict;
}

TEST(Results, VerdictsFollowExpectations) {
  using Kind = Outcome::Kind;
  using Expected = Expectation::Kind;
  EXPECT_EQ(verdict(Kind::kPassed, Expected::kPass), Verdict::kOk);
  for (const Kind bad : {Kind::kFailed, Kind::kCrashed, Kind::kTimedOut}) {
    EXPECT_EQ(verdict(bad, Expected::kPass), Verdict::kFailed);
    EXPECT_EQ(verdict(bad, Expected::kFails), Verdict::kExpected);
    EXPECT_EQ(verdict(bad, Expected::kUnsupported), Verdict::kStale);
  }
  EXPECT_EQ(verdict(Kind::kUnsupported, Expected::kPass), Verdict::kFailed);
  EXPECT_EQ(verdict(Kind::kUnsupported, Expected::kUnsupported), Verdict::kExpected);
  EXPECT_EQ(verdict(Kind::kPassed, Expected::kFails), Verdict::kStale);
  EXPECT_EQ(verdict(Kind::kPassed, Expected::kUnsupported), Verdict::kStale);
}

TEST(Results, ReportsTellEachCase) {
  const Case a = {"ops/relu/zero", "", "", {}, "", {}}, b = {"damaged/cut", "", "", {}, "", {}};
  const std::vector<Row> rows = {
      judged(a, "cpu", outcome(Outcome::Kind::kPassed), {}),
      judged(a, "reference", outcome(Outcome::Kind::kFailed), {}),
      judged(b, "cpu", outcome(Outcome::Kind::kCrashed), {Expectation::Kind::kFails, "known"})};
  EXPECT_EQ(summary(rows), "1 passed, 1 failed as expected, 1 failed");
  EXPECT_NE(table_line(rows[1]).find("ops/relu/zero"), std::string::npos);
  const std::string xml = junit_xml(rows);
  EXPECT_NE(xml.find("<testsuite name=\"ops\" tests=\"2\" failures=\"1\" skipped=\"0\">"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure message=\"what &quot;was&quot; &lt;said>\"/>"), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<skipped message=\"known\"/>"), std::string::npos) << xml;
  const nlohmann::json json = nlohmann::json::parse(json_text(rows, 2));
  EXPECT_EQ(json.at("failed"), 1);
  EXPECT_EQ(json.at("processor"), Expectations::processor());
  EXPECT_EQ(json.at("cases").at(1).at("message"), "what \"was\" <said>");
}

/// Messages hold names of bundles.
TEST(Results, NoTextReachesTheTerminalAsItIs) {
  const Case c = {"ops/\x1b[2J", "", "", {}, "", {}};
  const Outcome hostile = {Outcome::Kind::kFailed, 0, 0,
                           "no input '\x1b]0;x\x07\n\x7f\xc2\x9b\xff'"};
  const std::vector<Row> rows = {judged(c, "cpu", hostile, {})};
  for (const std::string& text : {table_line(rows[0]), junit_xml(rows), json_text(rows, 1)}) {
    for (const char byte : text) EXPECT_TRUE((byte >= 0x20 && byte < 0x7f) || byte == '\n') << text;
  }
  EXPECT_EQ(table_line(rows[0]).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lazyrt::conformance
