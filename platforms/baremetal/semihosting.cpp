#include "platforms/baremetal/semihosting.h"

#include <cstring>

namespace lazyrt::semihosting {
namespace {

enum Operation : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteText = 0x04,
  kWrite = 0x05,
  kRead = 0x06,
  kLength = 0x0c,
  kClock = 0x10,
  kCommandLine = 0x15,
  kExitExtended = 0x20,
};
constexpr uint32_t kApplicationExit = 0x20026;
constexpr uint32_t kReadBinary = 1, kWriteBinary = 5;

int32_t call(Operation operation, const void* argument) {
  register uint32_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<int32_t>(r0);
}

uint32_t word(const void* pointer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}

/// An open file of the host.
class File {
 public:
  File(const char* path, uint32_t mode) {
    const uint32_t block[3] = {word(path), mode, static_cast<uint32_t>(std::strlen(path))};
    handle_ = call(kOpen, block);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    const int32_t block[1] = {handle_};
    if (is_open()) call(kClose, block);
  }
  bool is_open() const { return handle_ != -1; }
  int32_t length() const {
    const int32_t block[1] = {handle_};
    return call(kLength, block);
  }
  /// Bytes that were not moved.
  int32_t move(Operation operation, const void* data, size_t bytes) const {
    const uint32_t block[3] = {static_cast<uint32_t>(handle_), word(data),
                               static_cast<uint32_t>(bytes)};
    return call(operation, block);
  }

 private:
  int32_t handle_;
};

const char* current_task = "";

}  // namespace

void set_task(const char* text) { current_task = text; }
const char* task() { return current_task; }

void write(const char* text) { call(kWriteText, text); }

void end_program(int code) {
  const uint32_t block[2] = {kApplicationExit, static_cast<uint32_t>(code)};
  call(kExitExtended, block);
  while (true) {
  }
}

bool command_line(char* line, size_t bytes) {
  uint32_t block[2] = {word(line), static_cast<uint32_t>(bytes)};
  if (call(kCommandLine, block) != 0) return false;
  const char* words = std::strchr(line, ' ');
  if (words == nullptr) return false;
  std::memmove(line, words + 1, std::strlen(words));
  return true;
}

int32_t read_file(const char* path, void* to, size_t bytes) {
  const File file(path, kReadBinary);
  if (!file.is_open()) return -1;
  const int32_t length = file.length();
  if (length < 0 || static_cast<size_t>(length) > bytes) return -1;
  return file.move(kRead, to, static_cast<size_t>(length)) == 0 ? length : -1;
}

bool write_file(const char* path, const char* text, size_t bytes) {
  const File file(path, kWriteBinary);
  return file.is_open() && file.move(kWrite, text, bytes) == 0;
}

uint64_t ticks() { return static_cast<uint64_t>(call(kClock, nullptr)) * 10000000u; }

}  // namespace lazyrt::semihosting
