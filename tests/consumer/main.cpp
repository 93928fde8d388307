// Runs the samples of a bundle's first method with LazyRT's public API. `consumer FILE`.
#include <lazyrt/runtime.h>

#include <cstdio>

static int fail(const lazyrt::Status& status) { return std::fprintf(stderr, "%s\n", status.message()), 1; }

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: consumer FILE.lzb\n"), 0;
  const auto program = lazyrt::Program::open(argv[1], lazyrt::default_ops());
  if (!program.ok()) return fail(program.status());
  const lazyrt::Method method = program->method(0);
  lazyrt::SessionOptions options;
  options.backend = lazyrt::cpu_backend();
  auto session = lazyrt::Session::create(method, options);
  if (!session.ok()) return fail(session.status());
  for (size_t i = 0; method.sample_count() != 0 && i < method.input_count(); ++i) {
    if (auto s = session->set_input(i, method.sample_input(0, i)); !s.ok()) return fail(s);
  }
  if (auto s = session->run(); !s.ok()) return fail(s);
  const auto y = session->output(0);
  return y.ok() ? std::printf("%s: %zu bytes\n", method.output(0).name, y->bytes()), 0 : fail(y.status());
}
