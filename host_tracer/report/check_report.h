#pragma once

// What the differential check of an export found. Free of LibTorch types.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lazyrt {

/// How much an export is checked.
enum class CheckLevel : uint8_t {
  kNone,
  kSample,  ///< the sample, also in several calls in a row
  kFull,    ///< and altered inputs
};

/// The bundle's result against the program's, over all calls.
struct CheckLine {
  std::string output;
  double max_absolute = 0;  ///< largest |ours - eager's|
  double max_value = 0;     ///< largest |eager's|
  double of_bound = 0;      ///< largest error over what is allowed for its element
  bool ok = true;

  /// max_absolute / max_value; max_absolute itself where eager's output is 0 throughout.
  double relative() const { return max_value > 0 ? max_absolute / max_value : max_absolute; }
};

struct CheckReport {
  /// The checks that were made, which may be fewer than requested.
  CheckLevel level = CheckLevel::kNone;
  std::string unchecked;        ///< why nothing was, or why not in full
  uint64_t seed = 0;            ///< of the altered inputs
  size_t eager_calls = 0;       ///< of the program, for this check
  size_t calls = 0;             ///< compared, of all kinds
  size_t in_a_row = 0;          ///< of them calls without a reset before
  size_t altered = 0;           ///< calls on altered inputs that were made
  size_t altered_compared = 0;  ///< of them: compared
  size_t refused = 0;           ///< by the bundle: a guard
  size_t raised = 0;            ///< the program itself raises
  size_t not_finite = 0;        ///< results left the finite numbers
  size_t left_out = 0;          ///< altered inputs beyond the most calls
  size_t sizes = 0;             ///< sizes at which the bundle also ran beside the program
  size_t sizes_captured = 0;    ///< among these, sizes at which the program was captured as well
  int64_t undecided = 0;        ///< elements that differ where rounding changes eager's own
  std::vector<std::string> notes;
  std::vector<CheckLine> lines;  ///< by output
  std::string difference;        ///< the first difference that is not rounding: the export fails
  double seconds = 0;

  /// Whether too few altered inputs were compared to say more than that the sample is right.
  bool sample_only() const;
  /// Over all outputs.
  double worst() const;
};

/// "none", "sample", "full".
const char* check_level_name(CheckLevel level);
/// The level of that name; false: there is none.
bool parse_check_level(const std::string& name, CheckLevel* level);

/// Sentences for people, one for each line of the report.
std::vector<std::string> check_sentences(const CheckReport& report);
/// {"level", "seed", "calls", "altered", "compared", "refused", ..., "seconds"}
nlohmann::ordered_json check_json(const CheckReport& report);

}  // namespace lazyrt
