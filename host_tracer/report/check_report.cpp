#include "host_tracer/report/check_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lazyrt {
namespace {

constexpr size_t kFewestAltered = 2;

std::string count(int64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string count(size_t n, const char* one, const char* many) {
  return count(static_cast<int64_t>(n), one, many);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string calls_sentence(const CheckReport& r) {
  std::string text = count(r.calls, "call", "calls") + " like eager's, " +
                     std::to_string(r.in_a_row) + " of them in a row, " +
                     std::to_string(r.altered_compared) + " on altered inputs (seed " +
                     std::to_string(r.seed) + ")";
  return text + "; worst error " + number(r.worst()) + " of what is allowed";
}

std::string left_sentence(const CheckReport& r) {
  std::vector<std::string> parts;
  if (r.raised > 0) parts.push_back("eager raises on " + std::to_string(r.raised));
  if (r.not_finite > 0) {
    parts.push_back("on " + std::to_string(r.not_finite) + " eager's results are no longer finite");
  }
  if (r.left_out > 0)
    parts.push_back(std::to_string(r.left_out) + " beyond the limit of calls for an export");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? text : "of the altered inputs left out: " + text;
}

std::string undecided_sentence(const CheckReport& r) {
  if (r.undecided == 0) return "";
  return count(r.undecided, "element is", "elements are") +
         " decided by rounding in eager itself: the bundle has another of the values that eager "
         "takes";
}

}  // namespace

bool CheckReport::sample_only() const { return altered_compared < kFewestAltered; }

double CheckReport::worst() const {
  double worst = 0;
  for (const CheckLine& line : lines) worst = std::max(worst, line.of_bound);
  return worst;
}

const char* check_level_name(CheckLevel level) {
  static constexpr const char* kNames[] = {"none", "sample", "full"};
  return kNames[static_cast<size_t>(level)];
}

bool parse_check_level(const std::string& name, CheckLevel* level) {
  for (const CheckLevel one : {CheckLevel::kNone, CheckLevel::kSample, CheckLevel::kFull}) {
    if (name != check_level_name(one)) continue;
    *level = one;
    return true;
  }
  return false;
}

std::vector<std::string> check_sentences(const CheckReport& r) {
  if (r.level == CheckLevel::kNone) return {"not made: " + r.unchecked};
  std::vector<std::string> lines = {calls_sentence(r)};
  if (r.refused > 0) {
    lines.push_back("the bundle refused " + std::to_string(r.refused) + " of " +
                    count(r.altered, "altered input", "altered inputs"));
  }
  for (std::string line : {left_sentence(r), undecided_sentence(r)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (r.sizes > 0) {
    lines.push_back("one call each at " + count(r.sizes, "more size", "more sizes") +
                    (r.sizes_captured > 0
                         ? ", captured at " + std::to_string(r.sizes_captured) + " of them"
                         : ""));
  }
  if (r.sample_only()) {
    lines.push_back("checked on the sample only" + (r.unchecked.empty() ? "" : ": " + r.unchecked));
  }
  lines.insert(lines.end(), r.notes.begin(), r.notes.end());
  return lines;
}

nlohmann::ordered_json check_json(const CheckReport& r) {
  return {{"level", check_level_name(r.level)},
          {"sample_only", r.sample_only()},
          {"unchecked", r.unchecked},
          {"seed", r.seed},
          {"eager_calls", r.eager_calls},
          {"calls", r.calls},
          {"in_a_row", r.in_a_row},
          {"altered", r.altered},
          {"altered_compared", r.altered_compared},
          {"refused", r.refused},
          {"raised", r.raised},
          {"not_finite", r.not_finite},
          {"left_out", r.left_out},
          {"sizes", r.sizes},
          {"sizes_captured", r.sizes_captured},
          {"undecided", r.undecided},
          {"worst", r.worst()},
          {"notes", r.notes},
          {"difference", r.difference},
          {"seconds", r.seconds}};
}

}  // namespace lazyrt
