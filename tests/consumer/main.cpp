// An application on LazyRT's public API: y = relu(x + w) of a bundle, printed. `consumer FILE.lzb`.
#include <lazyrt/backend_choice.h>
#include <lazyrt/runtime.h>

#include <cstdio>

#ifndef BACKEND
#define BACKEND cpu_backend
#endif

static int fail(const lazyrt::Status& s) { return std::fprintf(stderr, "%s\n", s.message()), 1; }

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
#ifdef ON_GPU
  lazyrt::BackendChoice backends;  // outlives the Program
  const auto backend = backends.find("vulkan");
  if (!backend.ok()) return fail(backend.status());
#else
  const lazyrt::Result<const lazyrt::Backend*> backend = lazyrt::BACKEND();
#endif
  const auto program = lazyrt::Program::open(path, lazyrt::default_ops());
  if (!program.ok()) return fail(program.status());
  lazyrt::SessionOptions options;
  options.backend = *backend;
  auto session = lazyrt::Session::create(program->method(0), options);
  if (!session.ok()) return fail(session.status());
  const float x[6] = {-1, -2, -1, 0, 1, 2};
  if (auto s = session->set_input(0, x, sizeof(x)); !s.ok()) return fail(s);
  if (auto s = session->run(); !s.ok()) return fail(s);
  const auto y = session->output(0);
  if (!y.ok()) return fail(y.status());
  for (int64_t i = 0; i < y->numel(); ++i) std::printf("%g ", y->as<float>()[i]);
}
