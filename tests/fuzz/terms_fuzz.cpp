// Bytes as terms and a patch: their texts are bounded, and what the terms say.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/term_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string wrong = lazyrt::fuzz::wrong_term_text(data, size);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
