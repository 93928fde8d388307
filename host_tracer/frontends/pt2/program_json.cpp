#include "host_tracer/frontends/pt2/program_json.h"

#include <nlohmann/json.hpp>

namespace lazyrt {

int64_t schema_major(const std::string& json) {
  return nlohmann::json::parse(json).at("schema_version").at("major").get<int64_t>();
}

torch::_export::ExportedProgram parse_program(const std::string& json) {
  return nlohmann::json::parse(json).get<torch::_export::ExportedProgram>();
}

torch::_export::PayloadConfig parse_payloads(const std::string& json) {
  return nlohmann::json::parse(json).get<torch::_export::PayloadConfig>();
}

}  // namespace lazyrt
