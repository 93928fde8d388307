#pragma once

// manifest.txt, the cases of a conformance folder for machines that read no JSON; written beside
// manifest.json by tests/conformance/make_bundles, which says the same. Lines of words with tabs
// between; a case's steps follow it:
//
//   case ID BUNDLE METHOD LOAD_ERROR TOLERANCE   TOLERANCE is in units of 1e-12
//   step ERROR SAMPLE                            a sample of the method
//   step ERROR - FILE...                         .npy files of all inputs, then of all outputs
//
// What they mean: platforms/posix/conformance/manifest.h.

#include "lazyrt/span.h"

namespace lazyrt::conformance {

struct ListedCase {
  const char* id = "";
  const char* bundle = "";
  const char* method = "";
  const char* load_error = "";
  double tolerance = 0;
};

struct ListedStep {
  static constexpr int kMaxFiles = 16;
  const char* error = "";
  int sample = -1;
  const char* files[kMaxFiles] = {};
  int file_count = 0;
};

/// Reads the list in place: words become separate texts. The list must outlive all of them.
class CaseList {
 public:
  /// `text` ends in a NUL.
  explicit CaseList(char* text) : next_(text) {}

  /// The next case, past what is left of the one before. False: there is none, or the list is
  /// damaged.
  bool next_case(ListedCase* one);
  /// The next step of the case. False: it has no more.
  bool next_step(ListedStep* step);
  bool is_damaged() const { return is_damaged_; }

 private:
  static constexpr int kMaxWords = 3 + ListedStep::kMaxFiles;

  char* next_;
  char* words_[kMaxWords] = {};
  int word_count_ = 0;
  bool is_held_ = false;  ///< the line that was read belongs to the next call
  bool is_damaged_ = false;

  bool read_line();
};

}  // namespace lazyrt::conformance
