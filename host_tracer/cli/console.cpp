#include "host_tracer/cli/console.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lazyrt {

Exit fail(const Failure& failure, Exit code, bool json, const nlohmann::ordered_json& details) {
  std::fprintf(stderr, "lazy-export: %s\n", failure.text.c_str());
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
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

}  // namespace lazyrt
