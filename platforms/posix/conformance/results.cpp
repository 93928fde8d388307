#include "platforms/posix/conformance/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "platforms/posix/lazy_run/process.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::conformance {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(Outcome::Kind kind) {
  constexpr const char* kNames[] = {"passed", "failed", "unsupported", "crashed", "timed out"};
  return kNames[static_cast<size_t>(kind)];
}

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"ok", "expected", "FAILED", "STALE"};
  return kNames[static_cast<size_t>(verdict)];
}

size_t count(const std::vector<Row>& rows, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.verdict == verdict; }));
}

/// The note for a row that did not simply pass.
std::string remark(const Row& row) {
  if (row.verdict == Verdict::kStale) {
    return "expected otherwise (" + row.reason + "): remove that line; " + row.outcome.message;
  }
  if (row.verdict == Verdict::kExpected) return row.reason;
  return row.outcome.message;
}

std::string format(const char* pattern, double number) {
  char text[32];
  std::snprintf(text, sizeof(text), pattern, number);
  return text;
}

/// Text of a bundle may hold any byte: what XML cannot hold becomes '?'.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += byte < 0x20 || byte > 0x7e ? '?' : c;
    }
  }
  return out;
}

std::string folder_of(const std::string& id) {
  const size_t slash = id.rfind('/');
  return slash == std::string::npos ? "" : id.substr(0, slash);
}

std::string junit_case(const Row& row) {
  const std::string folder = folder_of(row.c->id);
  std::string name = row.c->id.substr(folder.empty() ? 0 : folder.size() + 1);
  std::string classname = folder;
  std::replace(classname.begin(), classname.end(), '/', '.');
  std::string out = "    <testcase classname=\"" + xml(classname) + "\" name=\"" + xml(name) +
                    " [" + row.backend + "]\" time=\"" +
                    format("%.6f", row.outcome.milliseconds * 1e-3) + "\"";
  if (row.verdict == Verdict::kOk) return out + "/>\n";
  const bool died =
      row.outcome.kind == Outcome::Kind::kCrashed || row.outcome.kind == Outcome::Kind::kTimedOut;
  const char* element = row.good() ? "skipped" : died ? "error" : "failure";
  return out + ">\n      <" + element + " message=\"" + xml(remark(row)) +
         "\"/>\n    </testcase>\n";
}

Json json_row(const Row& row) {
  const double error = row.outcome.max_error;
  Json out = {{"case", row.c->id},
              {"backend", row.backend},
              {"verdict", verdict_name(row.verdict)},
              {"outcome", kind_name(row.outcome.kind)},
              {"max_error", std::isfinite(error) ? Json(error) : Json()},
              {"milliseconds", row.outcome.milliseconds}};
  if (row.verdict != Verdict::kOk) out["message"] = remark(row);
  return out;
}

}  // namespace

Row judged(const Case& c, const char* backend, Outcome outcome, const Expectation& expected) {
  Row row = {&c, backend, std::move(outcome), Verdict::kOk, expected.reason};
  const bool unsupported = row.outcome.kind == Outcome::Kind::kUnsupported;
  const bool passed = row.outcome.kind == Outcome::Kind::kPassed;
  switch (expected.kind) {
    case Expectation::Kind::kPass:
      row.verdict = passed ? Verdict::kOk : Verdict::kFailed;
      break;
    case Expectation::Kind::kUnsupported:
      row.verdict = unsupported ? Verdict::kExpected : Verdict::kStale;
      break;
    case Expectation::Kind::kFails:
      row.verdict = passed || unsupported ? Verdict::kStale : Verdict::kExpected;
      break;
  }
  return row;
}

std::string table_line(const Row& row) {
  char text[96];
  std::snprintf(text, sizeof(text), "%-9s %-10s %10.3g %10.3f ms  ", verdict_name(row.verdict),
                row.backend, row.outcome.max_error, row.outcome.milliseconds);
  const std::string said = remark(row);
  return text + run::printable(row.c->id + (said.empty() ? "" : "  " + said));
}

std::string summary(const std::vector<Row>& rows) {
  const size_t bad = count(rows, Verdict::kFailed), stale = count(rows, Verdict::kStale);
  std::string out = std::to_string(count(rows, Verdict::kOk)) + " passed, " +
                    std::to_string(count(rows, Verdict::kExpected)) + " failed as expected, " +
                    std::to_string(bad) + " failed";
  if (stale > 0) out += ", " + std::to_string(stale) + " expected otherwise";
  return out;
}

std::string junit_xml(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> suites;
  for (const Row& row : rows) suites[row.c->id.substr(0, row.c->id.find('/'))].push_back(&row);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [name, cases] : suites) {
    size_t bad = 0, skipped = 0;
    std::string body;
    for (const Row* row : cases) {
      if (!row->good()) ++bad;
      if (row->verdict == Verdict::kExpected) ++skipped;
      body += junit_case(*row);
    }
    out += "  <testsuite name=\"" + xml(name) + "\" tests=\"" + std::to_string(cases.size()) +
           "\" failures=\"" + std::to_string(bad) + "\" skipped=\"" + std::to_string(skipped) +
           "\">\n" + body + "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

std::string json_text(const std::vector<Row>& rows, int threads) {
  Json out = {{"program", std::string("lazyrt-conformance ") + LAZYRT_VERSION},
              {"processor", Expectations::processor()},
              {"system", run::system_name()},
              {"threads", threads},
              {"passed", count(rows, Verdict::kOk)},
              {"expected", count(rows, Verdict::kExpected)},
              {"failed", count(rows, Verdict::kFailed) + count(rows, Verdict::kStale)},
              {"cases", Json::array()}};
  for (const Row& row : rows) out["cases"].push_back(json_row(row));
  return out.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace lazyrt::conformance
