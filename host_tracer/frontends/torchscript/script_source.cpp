#include "host_tracer/frontends/torchscript/script_source.h"

#include <cstdlib>
#include <string_view>

namespace lazyrt {

bool is_of_torch(std::string_view file) {
  return file.find("-packages/torch/") != std::string_view::npos ||
         file.rfind("code/__torch__/torch/", 0) == 0;
}

namespace {

bool is_user(std::string_view file) {
  return !file.empty() && file[0] != '<' && !is_of_torch(file) &&
         file.rfind("code/__torch__", 0) != 0;
}

/// "model.py(12): forward" of a traced node; file empty when the text is none.
ScriptLine traced_frame(std::string_view text) {
  const size_t open = text.rfind('('), close = text.find("): ", open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  ScriptLine line;
  line.file = std::string(text.substr(0, open));
  line.line = std::atoi(std::string(text.substr(open + 1, close - open - 1)).c_str());
  line.user = is_user(line.file);
  return line.line > 0 ? line : ScriptLine{};
}

/// A traced node's range is the text of its Python stack, innermost first.
ScriptLine user_frame(const std::string& stack) {
  for (size_t at = 0; at < stack.size();) {
    const size_t end = std::min(stack.find('\n', at), stack.size());
    const ScriptLine line = traced_frame(std::string_view(stack).substr(at, end - at));
    if (line.user) return line;
    at = end + 1;
  }
  return {};
}

ScriptLine find_line(const torch::jit::Node* node) {
  const torch::jit::SourceRange saved = node->sourceRange();
  const auto generating = saved.findSourceRangeThatGenerated();
  const torch::jit::SourceRange& range = generating ? *generating : saved;
  const auto place = range.file_line_col();
  if (!place) return {};
  ScriptLine line{std::get<0>(*place), static_cast<int>(std::get<1>(*place)), false};
  line.user = is_user(line.file);
  if (line.user) return line;
  const ScriptLine traced = user_frame(range.text().str());
  if (traced.user) return traced;
  return line.file.empty() || line.file[0] == '<' ? ScriptLine{} : line;
}

}  // namespace

const ScriptLine& ScriptSources::line_of(const torch::jit::Node* node) {
  const auto it = lines_.find(node);
  return it != lines_.end() ? it->second : lines_.emplace(node, find_line(node)).first->second;
}

Source ScriptSources::source_of(const torch::jit::Node* node,
                                const std::vector<const torch::jit::Node*>& calls,
                                const std::string& module_path) {
  const ScriptLine* best = &line_of(node);
  for (size_t i = calls.size(); i-- > 0 && !best->user;) {
    const ScriptLine& line = line_of(calls[i]);
    if (line.user) best = &line;
  }
  Source source;
  source.module_path = module_path;
  source.file = best->file;
  source.line = best->line;
  return source;
}

}  // namespace lazyrt
