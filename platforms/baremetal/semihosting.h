#pragma once

// The host behind the debugger or QEMU: its console, its files, the end of the program. Arm's
// "Semihosting for AArch32 and AArch64", 2.0. Without a debugger or emulator the first call stops
// the processor. For tests and programs run there; the runtime itself never calls it.

#include <cstddef>
#include <cstdint>

namespace lazyrt::semihosting {

void write(const char* text);
/// Ends the program; the emulator answers with this exit code.
[[noreturn]] void end_program(int code);
/// What the program is doing now; printed if an exception of the processor ends it. The text is
/// borrowed.
void set_task(const char* text);
const char* task();

/// The words after the program's name, NUL-terminated, in *line; false: there are none.
bool command_line(char* line, size_t bytes);

/// Reads a file of the host into `to`. Returns its size, or -1 if there is no such file or it is
/// larger than `bytes`.
int32_t read_file(const char* path, void* to, size_t bytes);
/// Replaces a file of the host. False when it cannot be written.
bool write_file(const char* path, const char* text, size_t bytes);

/// Nanoseconds since the program's start, in steps of 10 ms.
uint64_t ticks();

}  // namespace lazyrt::semihosting
