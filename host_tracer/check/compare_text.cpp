#include "host_tracer/check/compare_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "host_tracer/support/printable.h"

namespace lazyrt {
namespace {

using CompareJson = nlohmann::ordered_json;

const char* expected_name(ExpectedBy expected) {
  switch (expected) {
    case ExpectedBy::kEager:
      return "eager";
    case ExpectedBy::kReference:
      return "reference";
    case ExpectedBy::kNothing:
      break;
  }
  return "-";
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

/// JSON knows no infinity.
CompareJson json_number(double value) {
  return std::isfinite(value) ? CompareJson(value) : CompareJson(nullptr);
}

CompareJson value_json(const ComparedValue& value) {
  CompareJson json = {{"node", value.node},
                      {"name", value.name},
                      {"value", value.value},
                      {"op", value.op},
                      {"backend", value.backend},
                      {"type", value.type},
                      {"aten", value.source.aten},
                      {"module", value.source.module_path},
                      {"file", value.source.file},
                      {"line", value.source.line},
                      {"expected", expected_name(value.expected)}};
  if (value.expected == ExpectedBy::kNothing) {
    json["why"] = value.why;
    return json;
  }
  json["ok"] = value.ok;
  json["max_error"] = json_number(value.max_error);
  json["max_value"] = json_number(value.max_value);
  json["of_bound"] = json_number(value.of_bound);
  if (!value.ok) json["worst"] = value.worst;
  if (!value.ok) json["operands_ok"] = value.operands_ok;
  return json;
}

/// Says how many values were left out, by reason.
std::string left_out_text(const NodeComparison& comparison) {
  std::map<std::string, size_t> reasons;
  for (const ComparedValue& value : comparison.values) {
    if (value.expected == ExpectedBy::kNothing) ++reasons[value.why];
  }
  std::string text;
  for (const auto& [why, count] : reasons)
    text += "\n" + std::to_string(count) + " not compared: " + why;
  return text;
}

}  // namespace

bool is_difference(const NodeComparison& comparison) {
  return comparison.first.has_value() || !comparison.run_failed.empty();
}

std::string compare_table(const NodeComparison& comparison) {
  size_t width = 4;
  for (const ComparedValue& value : comparison.values)
    width = std::min<size_t>(std::max(width, value.name.size()), 48);
  std::string text = " node  " + padded("name", width) +
                     "  backend    by         max error  largest    of bound\n";
  for (const ComparedValue& value : comparison.values) {
    char number[16];
    std::snprintf(number, sizeof number, "%5zu", value.node);
    text += std::string(number) + "  " + padded(printable(value.name), width) + "  " +
            padded(value.backend, 9) + "  " + padded(expected_name(value.expected), 9);
    if (value.expected == ExpectedBy::kNothing) {
      text += "  " + value.why + "\n";
      continue;
    }
    text += "  " + padded(short_number(value.max_error), 9) + "  " +
            padded(short_number(value.max_value), 9) + "  " + short_number(value.of_bound);
    text += value.ok ? "\n" : value.operands_ok ? "  DIFFERS\n" : "  differs\n";
  }
  return text;
}

std::string compare_verdict(const NodeComparison& comparison) {
  const size_t all = comparison.values.size();
  std::string text;
  if (comparison.first) {
    const ComparedValue& value = comparison.values[*comparison.first];
    text = "the first value that differs from eager's: " + printable(value.place()) + " on " +
           value.backend + ", " + value.type + ": " + value.worst + ", max error " +
           short_number(value.max_error) + ", " + short_number(value.of_bound) +
           " times what is allowed";
  } else if (comparison.compared == 0) {
    text = "nothing could be compared";
  } else {
    text = "no value differs from eager's";
  }
  text += "\n" + std::to_string(comparison.compared) + " of " + std::to_string(all) +
          " values compared, " + std::to_string(comparison.by_eager) +
          " with eager's values, the others with reference kernels applied to eager's values" +
          left_out_text(comparison);
  if (!comparison.is_exact)
    text +=
        "\na new export of the model is another program: nodes were paired by operator, "
        "source, type and order";
  if (!comparison.run_failed.empty()) text += "\nthe run ended early: " + comparison.run_failed;
  return text;
}

CompareJson compare_json(const NodeComparison& comparison) {
  CompareJson json = {{"method", comparison.method},
                      {"variant", comparison.variant},
                      {"first", nullptr},
                      {"compared", comparison.compared},
                      {"by_eager", comparison.by_eager},
                      {"exact", comparison.is_exact},
                      {"run_failed", nullptr},
                      {"values", CompareJson::array()}};
  if (comparison.first) json["first"] = value_json(comparison.values[*comparison.first]);
  if (!comparison.run_failed.empty()) json["run_failed"] = comparison.run_failed;
  for (const ComparedValue& value : comparison.values) json["values"].push_back(value_json(value));
  return json;
}

}  // namespace lazyrt
