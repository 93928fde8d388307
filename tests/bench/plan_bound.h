#pragma once

// The least memory that any plan of a bundle needs, for the programs here, which end at an error.

#include <string>

#include "lazyrt/runtime.h"
#include "runtime/bundle/program_state.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::bench {

/// Prints the text and ends the program with exit code 1.
[[noreturn]] void fail(const std::string& text);
void require(const Status& status);

test::AlignedBytes read_file(const std::string& path);

/// Verifies the bundle. `program` uses the file's bytes in place.
void open_program(const test::AlignedBytes& file, ProgramState* program);

/// The least bytes of an arena in which all values of the method have room.
uint64_t lower_bound_of(const fb::Method& method, const BundleSections& sections,
                        const ProgramState& base);

}  // namespace lazyrt::bench
