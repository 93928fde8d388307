#pragma once

#include "lazyrt/runtime.h"

namespace lazyrt::fuzz {

/// Reads all that a Program tells: names, texts, samples to their last byte.
void walk(const Program& program);

/// Uses what the API has beside set_input and run: the session's own results and states as its
/// inputs, memory of the caller with and without a tail, statistics. Outcomes may differ between
/// backends, as feedback makes much of rounding; the sanitizers judge. False: it refused what it
/// must take.
bool walk(const Method& method, Session* session);

}  // namespace lazyrt::fuzz
