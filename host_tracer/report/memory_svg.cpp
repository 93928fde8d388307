#include "host_tracer/report/memory_svg.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html_text.h"

namespace lazyrt {
namespace {

constexpr double kLeft = 70, kTop = 8, kWidth = 1120, kHeight = 360, kBottom = 34;
constexpr double kLeast = 0.8;      ///< a bar's least extent, so that small values are seen
constexpr size_t kMostBars = 1500;  ///< the largest are drawn: a page has to stay light
constexpr size_t kMostSteps = 600;  ///< points of the line of live bytes
constexpr size_t kMostColours = 8;

/// The operator that makes a value, for its colour.
std::string maker_of(const MethodInfo& method, const ValueLine& value) {
  return value.first < 0 ? "input" : method.nodes[static_cast<size_t>(value.first)].op;
}

bool owns_memory(const ValueLine& value) {
  return value.kind != "Constant" && value.alias_of < 0 && value.last >= value.first;
}

/// Ids of the values to draw, the largest area first.
std::vector<size_t> bars_of(const MethodInfo& method, size_t* all) {
  std::vector<size_t> ids;
  for (size_t i = 0; i < method.values.size(); ++i) {
    if (owns_memory(method.values[i])) ids.push_back(i);
  }
  const auto area = [&](size_t id) {
    const ValueLine& v = method.values[id];
    return static_cast<double>(v.bytes) * (v.last - v.first + 1);
  };
  std::stable_sort(ids.begin(), ids.end(), [&](size_t a, size_t b) { return area(a) > area(b); });
  *all = ids.size();
  if (ids.size() > kMostBars) ids.resize(kMostBars);
  return ids;
}

/// The ops that hold the most bytes over time, each with a colour; all others are grey.
std::map<std::string, std::string> colours_of(const MethodInfo& method,
                                              const std::vector<size_t>& bars,
                                              std::vector<std::string>* order) {
  static constexpr const char* kColours[kMostColours] = {
      "#4c7ee0", "#e08a3c", "#46a86f", "#c65b8f", "#8a6fd0", "#3fa9b8", "#b9a23a", "#d0605a"};
  std::map<std::string, double> weight;
  for (const size_t id : bars) {
    const ValueLine& v = method.values[id];
    weight[maker_of(method, v)] += static_cast<double>(v.bytes) * (v.last - v.first + 1);
  }
  for (const auto& item : weight) order->push_back(item.first);
  std::stable_sort(order->begin(), order->end(), [&](const std::string& a, const std::string& b) {
    return weight[a] > weight[b];
  });
  if (order->size() > kMostColours) order->resize(kMostColours);
  std::map<std::string, std::string> colours;
  for (size_t i = 0; i < order->size(); ++i) colours[(*order)[i]] = kColours[i];
  return colours;
}

struct Scale {
  double per_node;
  double per_byte;
  double x(double node) const { return kLeft + node * per_node; }
  double y(double byte) const { return kTop + byte * per_byte; }
};

void append_bar(const MethodInfo& method, size_t id, const std::string& colour, const Scale& scale,
                std::ostringstream* out) {
  const ValueLine& value = method.values[id];
  // From its maker's column to its last reader's, both included.
  const double width = (value.last - value.first + 1) * scale.per_node;
  *out << "<rect x=\"" << scale.x(value.first + 1) << "\" y=\""
       << scale.y(static_cast<double>(value.offset)) << "\" width=\"" << std::max(kLeast, width)
       << "\" height=\"" << std::max(kLeast, static_cast<double>(value.bytes) * scale.per_byte)
       << "\" fill=\"" << colour << "\"><title>%" << id << " "
       << html_escape(maker_of(method, value)) << " " << tensor_text(value.dtype, value.shape)
       << ", " << bytes_text(value.bytes) << " at " << value.offset << ", nodes " << value.first
       << " to " << value.last << "</title></rect>\n";
}

/// Bytes that are in use at each node, as a line.
void append_live_line(const MethodInfo& method, const Scale& scale, std::ostringstream* out) {
  const size_t columns = method.nodes.size() + 2;
  std::vector<double> change(columns + 1);
  for (const ValueLine& value : method.values) {
    if (!owns_memory(value)) continue;
    change[static_cast<size_t>(value.first) + 1] += static_cast<double>(value.bytes);
    change[std::min(columns, static_cast<size_t>(value.last) + 2)] -=
        static_cast<double>(value.bytes);
  }
  *out << "<polyline fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.3\" points=\"";
  const size_t step = std::max<size_t>(1, columns / kMostSteps);
  double live = 0, highest = 0;
  for (size_t i = 0; i < columns; ++i) {
    live += change[i];
    highest = std::max(highest, live);
    if ((i + 1) % step != 0 && i + 1 != columns) continue;
    *out << scale.x(static_cast<double>(i + 1 - step)) << "," << scale.y(highest) << " "
         << scale.x(static_cast<double>(i + 1)) << "," << scale.y(highest) << " ";
    highest = live;
  }
  *out << "\"><title>bytes in use</title></polyline>\n";
}

void append_axes(const MethodInfo& method, const Scale& scale, std::ostringstream* out) {
  for (int i = 0; i <= 4; ++i) {
    const uint64_t byte = method.arena_bytes * static_cast<uint64_t>(i) / 4;
    const double y = scale.y(static_cast<double>(byte));
    *out << "<line x1=\"" << kLeft << "\" x2=\"" << kLeft + kWidth << "\" y1=\"" << y << "\" y2=\""
         << y << "\" stroke=\"currentColor\" stroke-opacity=\".15\"/><text x=\"" << kLeft - 8
         << "\" y=\"" << y + 4 << "\" text-anchor=\"end\">" << bytes_text(byte) << "</text>\n";
  }
  const size_t count = method.nodes.size();
  for (size_t i = 0; i <= 5 && count > 0; ++i) {
    const size_t node = (count - 1) * i / 5;
    *out << "<text x=\"" << scale.x(static_cast<double>(node) + 1.5) << "\" y=\""
         << kTop + kHeight + 18 << "\" text-anchor=\"middle\">" << (i == 0 ? "node " : "") << node
         << "</text>\n";
  }
}

void append_legend(const std::vector<std::string>& order,
                   const std::map<std::string, std::string>& colours, size_t drawn, size_t all,
                   std::ostringstream* out) {
  *out << "<div class=legend>";
  for (const std::string& op : order) {
    *out << "<span><i style=\"background:" << colours.at(op) << "\"></i>" << html_escape(op)
         << "</span>";
  }
  *out << "<span><i style=\"background:#8c96a3\"></i>other</span>"
          "<span>line: bytes in use</span>";
  if (drawn < all) {
    *out << "<span>the " << drawn << " largest of " << all << " values are drawn</span>";
  }
  *out << "</div>\n";
}

}  // namespace

std::string memory_svg(const MethodInfo& method) {
  if (method.arena_bytes == 0) return "<p class=soft>No arena.</p>\n";
  size_t all = 0;
  std::vector<std::string> order;
  const std::vector<size_t> bars = bars_of(method, &all);
  const auto colours = colours_of(method, bars, &order);
  const Scale scale = {kWidth / static_cast<double>(method.nodes.size() + 2),
                       kHeight / static_cast<double>(method.arena_bytes)};
  std::ostringstream out;
  out.precision(6);
  out << "<div class=\"panel plot\"><svg viewBox=\"0 0 " << kLeft + kWidth + 10 << " "
      << kTop + kHeight + kBottom << "\" role=img aria-label=\"memory plan\">\n";
  append_axes(method, scale, &out);
  out << "<g fill-opacity=\".78\" stroke=\"#0005\" stroke-width=\".4\">\n";
  for (const size_t id : bars) {
    const auto colour = colours.find(maker_of(method, method.values[id]));
    append_bar(method, id, colour == colours.end() ? "#8c96a3" : colour->second, scale, &out);
  }
  out << "</g>\n";
  append_live_line(method, scale, &out);
  out << "</svg>\n";
  append_legend(order, colours, bars.size(), all, &out);
  out << "</div>\n";
  return out.str();
}

}  // namespace lazyrt
