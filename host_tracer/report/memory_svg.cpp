#include "host_tracer/report/memory_svg.h"

#include <algorithm>
#include <sstream>

#include "host_tracer/report/bundle_text.h"

namespace lazyrt {
namespace {

constexpr double kWidth = 1100;
constexpr double kHeight = 420;
constexpr double kLeast = 0.8;  ///< a bar's least extent, so that small values are seen

/// Hue of a bar by the op that made its value: equal ops, equal colours.
int hue_of(const std::string& op) {
  unsigned hash = 2166136261u;
  for (const char c : op) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>(hash % 360);
}

void append_bar(const MethodInfo& method, const ValueLine& value, size_t id,
                std::ostringstream* out) {
  const bool is_input = value.first < 0;
  const std::string op = is_input ? "input" : method.nodes[static_cast<size_t>(value.first)].op;
  const double per_node = kWidth / static_cast<double>(method.nodes.size() + 1);
  const double per_byte = kHeight / static_cast<double>(method.arena_bytes);
  const double x = (value.first + 1) * per_node;
  const double width = std::max(kLeast, (value.last - value.first) * per_node);
  *out << "<rect x=\"" << x << "\" y=\"" << static_cast<double>(value.offset) * per_byte
       << "\" width=\"" << width << "\" height=\""
       << std::max(kLeast, static_cast<double>(value.bytes) * per_byte) << "\" fill=\"hsl("
       << hue_of(op) << " 55% 55% / .75)\" stroke=\"#0006\" stroke-width=\".4\"><title>%" << id
       << " " << op << " " << tensor_text(value.dtype, value.shape) << ", "
       << bytes_text(value.bytes) << " at " << value.offset << ", nodes " << value.first << " to "
       << value.last << "</title></rect>\n";
}

}  // namespace

std::string memory_svg(const MethodInfo& method) {
  if (method.arena_bytes == 0) return "<p>No arena.</p>\n";
  std::ostringstream out;
  out.precision(6);
  out << "<svg viewBox=\"0 0 " << kWidth << " " << kHeight << "\" role=img "
      << "aria-label=\"memory plan\" preserveAspectRatio=none>\n";
  for (size_t i = 0; i < method.values.size(); ++i) {
    const ValueLine& value = method.values[i];
    if (value.kind != "Constant" && value.alias_of < 0) append_bar(method, value, i, &out);
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace lazyrt
