#pragma once

#include <exception>
#include <string>
#include <vector>

#include "platforms/posix/lazy_run/file_names.h"
#include "platforms/posix/lazy_run/report.h"

namespace lazyrt::run {

/// Takes values from a run by their names (--tap): says what they are, and writes them to files.
class TapFiles {
 public:
  /// `folder`: where to write them as NAME.npy; empty: nowhere. It is made with the first file.
  TapFiles(std::vector<std::string> selectors, std::string folder)
      : selectors_(std::move(selectors)), found_(selectors_.size()), folder_(std::move(folder)) {}

  bool has_selectors() const { return !selectors_.empty(); }
  /// What a Watch asks and tells. Neither throws.
  bool wants(const TapPoint& point);
  void take(const TapPoint& point, const TensorView& value);
  /// After the session was made. Throws a Failure that names a selector which means no value.
  void check_selectors() const;
  /// Of the first run only. Throws what writing a file threw.
  void end();
  /// "tap features.0/conv2d f32[1,16,112,112] min -1.5 max 2.25 mean 0.125", a line each.
  void print(std::FILE* out) const;
  /// `taps`: name, variant, node, value, dtype, shape, file, min, max, mean, not_finite of each.
  void add_to(JsonStream* json) const;

 private:
  Json keep(const TapPoint& point, const TensorView& value);

  const std::vector<std::string> selectors_;
  std::vector<bool> found_;  ///< per selector
  const std::string folder_;
  FileNames files_;
  Json json_ = Json::array();
  bool ended_ = false;
  std::exception_ptr failure_;  ///< the runtime, which calls take, knows no exceptions
};

}  // namespace lazyrt::run
