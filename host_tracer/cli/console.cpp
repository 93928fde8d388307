#include "host_tracer/cli/console.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "host_tracer/support/printable.h"

namespace lazyrt {

Exit fail(const Failure& failure, Exit code, bool json, const nlohmann::ordered_json& details) {
  std::fprintf(stderr, "lazy-export: %s\n", printable_lines(failure.text).c_str());
  if (!json) return code;
  nlohmann::ordered_json object = {{"error",
                                    {{"kind", error_name(failure.error)},
                                     {"message", failure.text},
                                     {"exit_code", static_cast<int>(code)}}}};
  object.update(details);
  print_json(object);
  return code;
}

Exit fail(const Failure& failure, bool json) {
  return fail(failure, exit_code(failure.error), json);
}

void print_json(const nlohmann::ordered_json& json) {
  const std::string text =
      printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void print_text(const std::string& text) {
  const std::string safe = printable_lines(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
}

}  // namespace lazyrt
