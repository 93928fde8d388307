#include "host_tracer/frontends/pt2/source_map.h"

#include <cstdlib>
#include <string_view>

namespace lazyrt {
namespace {

constexpr std::string_view kFile = "File \"";
constexpr std::string_view kLine = "\", line ";

bool inside_torch(std::string_view file) {
  return file.find("-packages/torch/") != std::string_view::npos;
}

/// Frames are `File "PATH", line N, in NAME`, outermost first.
void set_frame(std::string_view trace, Source& source) {
  bool found_user = false;
  for (size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at)) {
    at += kFile.size();
    const size_t end = trace.find(kLine, at);
    if (end == std::string_view::npos) return;
    const std::string_view file = trace.substr(at, end - at);
    const bool generated = !file.empty() && file[0] == '<';  // "<eval_with_key>.3"
    const bool user = !generated && !inside_torch(file);
    if (user || (!found_user && !generated)) {
      source.file = std::string(file);
      source.line = std::atoi(std::string(trace.substr(end + kLine.size(), 12)).c_str());
    }
    found_user = found_user || user;
    at = end;
  }
}

/// Entries are `KEY,PATH,TYPE`, joined by ';', outermost first.
std::string innermost_module(std::string_view stack) {
  const size_t begin = stack.rfind(';');
  if (begin != std::string_view::npos) stack.remove_prefix(begin + 1);
  const size_t first = stack.find(',');
  const size_t last = stack.rfind(',');
  if (first == std::string_view::npos || last == first) return "";
  return std::string(stack.substr(first + 1, last - first - 1));
}

}  // namespace

Source source_of(const std::string& target,
                 const std::unordered_map<std::string, std::string>& metadata) {
  Source source;
  constexpr std::string_view kAten = "torch.ops.aten.";
  source.aten = target;
  if (target.rfind(kAten, 0) == 0) {
    const std::string name = target.substr(kAten.size());
    source.aten = "aten::" + name.substr(0, name.find('.'));
  }
  const auto frames = metadata.find("stack_trace");
  if (frames != metadata.end()) set_frame(frames->second, source);
  const auto modules = metadata.find("nn_module_stack");
  if (modules != metadata.end()) source.module_path = innermost_module(modules->second);
  return source;
}

}  // namespace lazyrt
