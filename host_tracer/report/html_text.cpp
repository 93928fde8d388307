#include "host_tracer/report/html_text.h"

#include <algorithm>
#include <cstdio>

namespace lazyrt {

std::string html_escape(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number_text(double value, const char* format) {
  char text[60];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string count_text(uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count == 0) return "";
  if (count >= 1000000000) return number_text(value / 1e9, "%.2f G");
  if (count >= 1000000) return number_text(value / 1e6, "%.2f M");
  if (count >= 10000) return number_text(value / 1e3, "%.1f k");
  return std::to_string(count);
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string file_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string source_html(const Source& source) {
  std::string html;
  if (!source.file.empty()) {
    const std::string line = source.line > 0 ? ":" + std::to_string(source.line) : "";
    html += "<code class=src title=\"" + html_escape(source.file + line) + "\">" +
            html_escape(file_name(source.file) + line) + "</code>";
  }
  if (!source.module_path.empty()) {
    html +=
        (html.empty() ? "in <code>" : " in <code>") + html_escape(source.module_path) + "</code>";
  }
  return html;
}

std::string bar_html(double width) {
  return "<i class=bar><i style=\"width:" + number_text(std::clamp(width, 0.0, 100.0), "%.1f%%") +
         "\"></i></i>";
}

}  // namespace lazyrt
