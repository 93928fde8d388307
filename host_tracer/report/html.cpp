#include "host_tracer/report/html.h"

#include "host_tracer/report/html_assets.h"
#include "host_tracer/report/html_sections.h"
#include "host_tracer/report/html_text.h"

namespace lazyrt {
namespace {

/// Nothing is fetched: the browser itself is told so.
constexpr char kPolicy[] =
    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'\">";

std::string head(const BundleInfo& bundle, const ExportSummary* summary) {
  const std::string name = html_escape(file_name(bundle.path));
  return std::string("<!doctype html><html lang=en><meta charset=utf-8>") + kPolicy +
         "<meta name=viewport content=\"width=device-width\"><title>" + name +
         " · LazyRT report</title><style>" + kReportStyle + "</style>\n<header><div>" +
         (summary ? verdict_section(*summary) : verdict_section(bundle)) + "</div></header>\n";
}

/// Links to the sections that are there.
std::string navigation(const std::string& body) {
  struct Link {
    const char* id;
    const char* text;
  };
  static constexpr Link kLinks[] = {
      {"findings", "Findings"},   {"guards", "Guards"},     {"syncs", "Syncs"},
      {"interface", "Interface"}, {"variants", "Variants"}, {"numerics", "Numbers"},
      {"placement", "Placement"}, {"modules", "Modules"},   {"memory", "Memory"},
      {"leaves", "Leaves"},       {"passes", "Passes"},     {"nodes", "Nodes"},
      {"notes", "Notes"},         {"versions", "Versions"}};
  std::string out = "<nav><div>";
  for (const Link& link : kLinks) {
    if (body.find(std::string("<h2 id=") + link.id + ">") == std::string::npos) continue;
    out += std::string("<a href=\"#") + link.id + "\">" + link.text + "</a>";
  }
  return out + "</div></nav>\n";
}

std::string method_part(const MethodInfo& method, size_t index, const ExportSummary* summary) {
  std::string out = interface_section(method) + variants_section(method, summary == nullptr);
  if (summary) out += numerics_section(*summary);
  out += placement_section(method) + modules_section(method) + memory_section(method, summary);
  if (summary) out += leaves_section(*summary) + passes_section(*summary);
  return out + nodes_section(method, index);
}

}  // namespace

std::string html_report(const BundleInfo& bundle, const ExportSummary* summary) {
  std::string body;
  if (!bundle.methods.empty()) body += cards_section(bundle, bundle.methods[0], summary);
  if (summary) {
    body += findings_section(*summary) + guards_section(*summary) + syncs_section(*summary);
  }
  for (size_t i = 0; i < bundle.methods.size(); ++i) {
    body += method_part(bundle.methods[i], i, summary);
  }
  if (summary && bundle.methods.empty()) body += leaves_section(*summary);
  if (summary) body += notes_section(*summary);
  body += versions_section(bundle, summary);
  return head(bundle, summary) + navigation(body) + "<main>\n" + body +
         "</main>\n<script type=\"application/json\" id=node-data>" + nodes_json(bundle) +
         "</script>\n<script>" + kReportScript + "</script>\n</html>\n";
}

}  // namespace lazyrt
