#include "platforms/baremetal/conformance/case_list.h"

#include <cstdlib>
#include <cstring>

namespace lazyrt::conformance {

bool CaseList::read_line() {
  if (is_held_) {
    is_held_ = false;
    return true;
  }
  if (*next_ == '\0') return false;
  word_count_ = 0;
  for (char* word = next_; word != nullptr;) {
    if (word_count_ == kMaxWords) {
      is_damaged_ = true;
      return false;
    }
    words_[word_count_++] = word;
    word = std::strpbrk(word, "\t\n");
    if (word == nullptr) {
      next_ = std::strchr(words_[word_count_ - 1], '\0');
      return true;
    }
    const bool ends = *word == '\n';
    *word++ = '\0';
    if (!ends) continue;
    next_ = word;
    return true;
  }
  return true;
}

bool CaseList::next_case(ListedCase* one) {
  while (read_line()) {
    if (std::strcmp(words_[0], "case") != 0) continue;
    if (word_count_ != 6) {
      is_damaged_ = true;
      return false;
    }
    *one = {words_[1], words_[2], words_[3], words_[4],
            static_cast<double>(std::strtoll(words_[5], nullptr, 10)) * 1e-12};
    return true;
  }
  return false;
}

bool CaseList::next_step(ListedStep* step) {
  if (!read_line()) return false;
  if (std::strcmp(words_[0], "step") != 0 || word_count_ < 3) {
    is_held_ = true;
    return false;
  }
  *step = ListedStep();
  step->error = words_[1];
  if (words_[2][0] != '-') step->sample = std::atoi(words_[2]);
  for (int i = 3; i < word_count_; ++i) step->files[step->file_count++] = words_[i];
  return true;
}

}  // namespace lazyrt::conformance
