#include "platforms/posix/conformance/manifest.h"

#include <nlohmann/json.hpp>

#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/npy.h"

namespace lazyrt::conformance {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

Step step_of(const json& j) {
  Step step;
  if (j.contains("sample")) step.sample = j.at("sample").get<size_t>();
  step.inputs = j.value("inputs", std::vector<std::string>());
  step.outputs = j.value("outputs", std::vector<std::string>());
  step.error = j.value("error", "");
  return step;
}

Case case_of(const json& j) {
  Case out;
  out.id = j.at("id").get<std::string>();
  out.bundle = j.at("bundle").get<std::string>();
  out.method = j.value("method", "");
  out.load_error = j.value("load_error", "");
  const double tolerance = j.value("tolerance", 0.0);
  out.tolerance = {tolerance, tolerance};
  for (const json& step : j.value("steps", json::array())) out.steps.push_back(step_of(step));
  return out;
}

}  // namespace

std::vector<Case> read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  const std::vector<uint8_t> bytes = run::read_file(path);
  std::vector<Case> cases;
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    const json all = json::parse(text, text + bytes.size());
    if (all.at("format").get<int>() != kFormat) {
      throw run::Failure(run::ExitCode::kUsage, path + ": of another version of this program");
    }
    for (const json& c : all.at("cases")) cases.push_back(case_of(c));
  } catch (const json::exception& error) {
    throw run::Failure(run::ExitCode::kUsage, path + ": " + error.what());
  }
  return cases;
}

}  // namespace lazyrt::conformance
