#include "platforms/posix/lazy_run/tap_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

/// The name of a tap; of a long module path only the beginning.
std::string name_of(TapPoint point) {
  const std::string path = shortened(point.module_path);
  point.module_path = path.c_str();
  std::string name(tap_name(point, nullptr, 0) + 1, '\0');
  tap_name(point, name.data(), name.size());
  name.pop_back();
  return name;
}

/// Of the finite elements; null where there are none.
void add_range(const TensorView& value, Json* entry) {
  double least = INFINITY, most = -INFINITY, sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < value.numel(); ++i) {
    const double x = element(value, i);
    if (!std::isfinite(x)) continue;
    least = std::min(least, x);
    most = std::max(most, x);
    sum += x;
    ++finite;
  }
  const Json none;
  (*entry)["min"] = finite == 0 ? none : Json(least);
  (*entry)["max"] = finite == 0 ? none : Json(most);
  (*entry)["mean"] = finite == 0 ? none : Json(sum / static_cast<double>(finite));
  (*entry)["not_finite"] = value.numel() - finite;
}

}  // namespace

bool TapFiles::wants(const TapPoint& point) {
  bool wanted = false;
  for (size_t i = 0; i < selectors_.size(); ++i) {
    if (!tap_matches(point, selectors_[i])) continue;
    found_[i] = true;
    wanted = true;
  }
  return wanted;
}

void TapFiles::check_selectors() const {
  for (size_t i = 0; i < selectors_.size(); ++i) {
    if (found_[i]) continue;
    throw Failure(ExitCode::kUsage, "--tap: nothing is called '" + selectors_[i] +
                                        "': lazy-export inspect --nodes lists names, numbers and "
                                        "%values");
  }
}

void TapFiles::take(const TapPoint& point, const TensorView& value) {
  if (ended_ || failure_ != nullptr) return;
  try {
    json_.push_back(keep(point, value));
  } catch (...) {
    failure_ = std::current_exception();
  }
}

Json TapFiles::keep(const TapPoint& point, const TensorView& value) {
  Json entry = {{"name", name_of(point)},
                {"variant", point.variant},
                {"node", point.node},
                {"value", point.value},
                {"dtype", dtype_name(value.dtype)},
                {"shape", shape_json(value.shape)},
                {"file", nullptr}};
  add_range(value, &entry);
  if (folder_.empty()) return entry;
  make_folder(folder_);
  const std::string variant =
      point.variant == 0 ? "" : "variant" + std::to_string(point.variant) + ".";
  const std::string file = files_.add(variant + entry["name"].get<std::string>());
  const std::string path = (std::filesystem::path(folder_) / file).string();
  write_npy(path, value);
  entry["file"] = path;
  return entry;
}

void TapFiles::end() {
  ended_ = true;
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void TapFiles::print(std::FILE* out) const {
  const auto number = [](const Json& value) {
    char digits[40] = "none";
    if (!value.is_null()) std::snprintf(digits, sizeof digits, "%.6g", value.get<double>());
    return std::string(digits);
  };
  for (const Json& tap : json_) {
    std::string line = "tap " + tap["name"].get<std::string>() + " " +
                       tap["dtype"].get<std::string>() + tap["shape"].dump() + " min " +
                       number(tap["min"]) + " max " + number(tap["max"]) + " mean " +
                       number(tap["mean"]);
    const auto odd = tap["not_finite"].get<int64_t>();
    if (odd != 0) line += ", " + std::to_string(odd) + " not finite";
    if (!tap["file"].is_null()) line += " -> " + tap["file"].get<std::string>();
    std::fprintf(out, "%s\n", printable(line).c_str());
  }
}

void TapFiles::add_to(JsonStream* json) const {
  json->key("taps");
  json->begin_list();
  for (const Json& tap : json_) json->value(tap);
  json->end_list();
}

}  // namespace lazyrt::run
