#include "host_tracer/trace/allow.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "host_tracer/trace/finding_ids.h"

namespace lazyrt {
namespace {

bool is_known(std::string_view id) {
  return std::find(std::begin(kFindingIds), std::end(kFindingIds), id) != std::end(kFindingIds);
}

Failure unknown(const std::string& text) {
  std::string known;
  for (const std::string_view id : kFindingIds) known.append(known.empty() ? "" : ", ").append(id);
  return {Error::kInvalidArgument, "allow: there is no finding '" + text + "'; there are " + known};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Outcome<Allowance> parse(const std::string& text) {
  if (text.find(',') != std::string::npos) {
    return Failure{Error::kInvalidArgument,
                   "allow: '" + text + "' holds several entries: give them one by one, as a list"};
  }
  const size_t at = text.find('@');
  Allowance made;
  made.id = text.substr(0, at);
  if (!is_known(made.id)) return unknown(made.id);
  if (at == std::string::npos) return made;
  const size_t colon = text.rfind(':');
  const bool placed = colon != std::string::npos && colon > at + 1;
  if (placed) {
    made.file = text.substr(at + 1, colon - at - 1);
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, made.line);
    const bool numbered = error == std::errc() && end == last && made.line > 0;
    if (numbered && made.file.find_first_of(":@") == std::string::npos) return made;
  }
  return Failure{
      Error::kInvalidArgument,
      "allow: '" + text + "' has to be id or id@file.py:line, such as " + made.id + "@model.py:31"};
}

bool ends_path(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

bool names(const Allowance& allowance, const Finding& finding) {
  if (allowance.id != finding.id) return false;
  if (allowance.file.empty()) return true;
  return allowance.line == finding.source.line && ends_path(finding.source.file, allowance.file);
}

/// What stands behind "lazyrt: allow" in the comment of a line of Python or C++; empty: no such.
std::string_view allowed_in(std::string_view line) {
  constexpr std::string_view kWords = "lazyrt: allow ";
  const size_t at = line.find(kWords);
  if (at == std::string_view::npos) return {};
  const std::string_view before = trimmed(line.substr(0, at));
  if (!before.ends_with('#') && !before.ends_with("//")) return {};
  return line.substr(at + kWords.size());
}

bool is_comment(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with('#') || text.starts_with("//");
}

/// `ids` are separated by commas; what follows an id after a blank, colon or bracket is for people.
bool lists(std::string_view ids, std::string_view id) {
  while (!ids.empty()) {
    const size_t comma = ids.find(',');
    const std::string_view one = trimmed(ids.substr(0, comma));
    if (one.substr(0, one.find_first_of(" \t:(")) == id) return true;
    ids = comma == std::string_view::npos ? std::string_view() : ids.substr(comma + 1);
  }
  return false;
}

bool allowed_by_comment(const Finding& finding) {
  if (finding.source.file.empty() || finding.source.line <= 0) return false;
  std::ifstream file(finding.source.file);
  std::string line, above;
  for (int i = 0; i < finding.source.line; ++i) {
    above = std::move(line);
    if (!std::getline(file, line)) return false;
  }
  return lists(allowed_in(line), finding.id) ||
         (is_comment(above) && lists(allowed_in(above), finding.id));
}

}  // namespace

Outcome<std::vector<Allowance>> parse_allowances(const std::vector<std::string>& texts) {
  std::vector<Allowance> made;
  for (const std::string& text : texts) {
    auto one = parse(text);
    if (!one.ok()) return one.failure();
    made.push_back(std::move(*one));
  }
  return made;
}

bool is_allowed(const Finding& finding, const std::vector<Allowance>& allowances) {
  return std::any_of(allowances.begin(), allowances.end(),
                     [&](const Allowance& one) { return names(one, finding); }) ||
         allowed_by_comment(finding);
}

void allow_findings(Trace& trace, const std::vector<Allowance>& allowances) {
  for (Finding& finding : trace.findings) {
    if (finding.severity != Severity::kError || !is_allowed(finding, allowances)) continue;
    finding.severity = Severity::kWarning;
    finding.allowed = true;
  }
}

Outcome<Done> allow_findings(Trace& trace, const std::vector<std::string>& texts) {
  auto allowances = parse_allowances(texts);
  if (!allowances.ok()) return allowances.failure();
  allow_findings(trace, *allowances);
  return Done{};
}

std::vector<std::string> idle_allowances(const std::vector<std::string>& texts,
                                         const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    auto allowance = parse(text);
    if (!allowance.ok()) continue;
    const auto used = [&](const Finding& f) { return f.allowed && names(*allowance, f); };
    if (std::none_of(findings.begin(), findings.end(), used)) {
      lines.push_back("allow '" + text + "' let nothing through");
    }
  }
  return lines;
}

}  // namespace lazyrt
