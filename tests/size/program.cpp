// The smallest program with a whole runtime in it: loads a bundle, runs it, and says how that
// ended. Its operators are none, so every bundle that has a node is refused at its first. `program
// FILE.lzb`.

#include <unistd.h>

#include <cstring>

#include "lazyrt/runtime.h"
#include "runtime/op/op_def.h"

namespace {

void print(const char* text) {
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(3);
}

lazyrt::Status run(const char* path) {
  static constexpr lazyrt::OpTable kNoOps;
  const auto program = lazyrt::Program::open(path, kNoOps);
  if (!program.ok()) return program.status();
  lazyrt::SessionOptions options;
  options.backend = lazyrt::reference_backend();
  auto session = lazyrt::Session::create(program->method(0), options);
  if (!session.ok()) return session.status();
  return session->run();
}

}  // namespace

int main(int argc, char** argv) {
  const lazyrt::Status status = run(argc > 1 ? argv[1] : "");
  print(status.message());
  print("\n");
  return status.ok() ? 0 : 1;
}
