#include "platforms/posix/lazy_run/explain.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "lazyrt/error.h"
#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/mapping.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

constexpr const char* kTexts[] = {
#define LAZYRT_TEXT(...) __VA_ARGS__,
#include "lazy_run/texts.inc"
#undef LAZYRT_TEXT
};
constexpr size_t kTextCount = sizeof(kTexts) / sizeof(kTexts[0]);

constexpr bool ids_differ() {
  std::array<uint32_t, kTextCount> ids = {};
  for (size_t i = 0; i < kTextCount; ++i) ids[i] = text_id(kTexts[i]);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}
static_assert(ids_differ(), "two texts of the library have one id: change a word of one");

struct Part {
  uint32_t id = 0;
  std::vector<int64_t> numbers;
};
struct Code {
  std::vector<Part> parts;  ///< the text, then contexts from the inner to the outer
  int64_t node = -1;
};

[[noreturn]] void no_code(const std::string& text) {
  throw Failure(ExitCode::kUsage,
                "'" + text + "' is not an error code: these look like 1a2b3c4d,7,-1/5e6f7a8b:12");
}

/// Reads a number at *at and moves behind it.
int64_t read_number(const std::string& text, size_t* at, int base) {
  size_t used = 0;
  const std::string rest = text.substr(*at);
  if (rest.empty() || std::isspace(static_cast<unsigned char>(rest[0])) != 0) no_code(text);
  try {
    const int64_t value = std::stoll(rest, &used, base);
    *at += used;
    return value;
  } catch (const std::exception&) {
    no_code(text);
  }
}

Code parse(const std::string& text) {
  Code code;
  size_t at = 0;
  do {
    if (!code.parts.empty()) ++at;
    Part part;
    part.id = static_cast<uint32_t>(read_number(text, &at, 16));
    while (at < text.size() && text[at] == ',') {
      part.numbers.push_back(read_number(text, &++at, 10));
    }
    code.parts.push_back(std::move(part));
  } while (at < text.size() && text[at] == '/');
  if (at < text.size() && text[at] == ':') code.node = read_number(text, &++at, 10);
  if (at != text.size()) no_code(text);
  return code;
}

/// One conversion of a printf format that begins at `format`; moves on behind it.
std::string convert(const char** format, const std::vector<int64_t>& numbers, size_t* next) {
  const auto take = [&](int64_t* value) {
    if (*next >= numbers.size()) return false;
    *value = numbers[(*next)++];
    return true;
  };
  const char* end = *format + 1;
  int64_t value = 0;
  for (; std::strchr("diuxgsc%", *end) == nullptr; ++end) {
    if (*end == '*') (void)take(&value);
  }
  *format = end + 1;
  if (*end == '%') return "%";
  if (!take(&value)) return "...";
  char text[40];
  if (*end == 's') {
    const char* word = value == 0 ? nullptr : find_text(static_cast<uint32_t>(value));
    return word == nullptr ? "..." : word;
  }
  if (*end == 'g') {
    double real = 0;
    std::memcpy(&real, &value, sizeof(real));
    std::snprintf(text, sizeof(text), "%g", real);
  } else {
    std::snprintf(text, sizeof(text), "%" PRId64, value);
  }
  return text;
}

std::string fill_in(const Part& part) {
  const char* format = find_text(part.id);
  if (format == nullptr) {
    char text[80];
    std::snprintf(text, sizeof(text), "this version has no message text with the id %08x", part.id);
    throw Failure(ExitCode::kUsage, text);
  }
  std::string out;
  size_t next = 0;
  while (*format != '\0') {
    if (*format == '%')
      out += convert(&format, part.numbers, &next);
    else
      out += *format++;
  }
  return out;
}

struct NodeSearch {
  size_t node;
  std::string found;
};

void add_node(void* context, const OpUse& use) {
  auto* search = static_cast<NodeSearch*>(context);
  if (use.node != search->node) return;
  const bool function = use.function[0] != '\0';
  std::string line = "  method '" + shortened(use.method) + "'";
  if (use.variant != 0) line += ", variant " + std::to_string(use.variant);
  line += ", node " + std::to_string(use.node) + ": " + shortened(use.op);
  if (function) line += std::string(".") + use.function;
  if (use.module_path[0] != '\0') line += " in " + shortened(use.module_path);
  if (use.file[0] != '\0') line += ", " + shortened(use.file) + ":" + std::to_string(use.line);
  if (use.aten[0] != '\0') line += " (" + shortened(use.aten) + ")";
  search->found += printable(line) + "\n";
}

}  // namespace

const char* find_text(uint32_t id) {
  for (const char* text : kTexts) {
    if (text_id(text) == id) return text;
  }
  return nullptr;
}

std::string explain(const std::string& code, const std::string& bundle, const OpTable& ops) {
  const Code parsed = parse(code);
  std::string out;
  for (auto part = parsed.parts.rbegin(); part != parsed.parts.rend(); ++part) {
    out += (out.empty() ? "" : ": ") + fill_in(*part);
  }
  out += "\n";
  if (parsed.node < 0) return out;
  NodeSearch search = {static_cast<size_t>(parsed.node), ""};
  const Mapping mapping(bundle);
  const Status status = list_op_uses(mapping.bytes(), ops, add_node, &search);
  if (search.found.empty())
    search.found = "  node " + std::to_string(parsed.node) + ": " +
                   (status.ok() ? "the bundle has no such node" : printable(status.message())) +
                   "\n";
  return out + search.found;
}

}  // namespace lazyrt::run
