#pragma once

#include <lazyrt/runtime.h>

#include <cstdio>

inline int fail(const char* what) { return std::fprintf(stderr, "%s\n", what), 1; }
inline int fail(const lazyrt::Status& s) { return fail(s.message()); }

/// Runs y = relu(x + w) of the bundle on the backend and prints y. Returns the exit code.
inline int run(const char* path, const lazyrt::Backend* backend) {
  const auto program = lazyrt::Program::open(path, lazyrt::default_ops());
  if (!program.ok()) return fail(program.status());
  lazyrt::SessionOptions options;
  options.backend = backend;
  auto session = lazyrt::Session::create(program->method(0), options);
  if (!session.ok()) return fail(session.status());
  const float x[6] = {-1, -2, -1, 0, 1, 2};
  if (auto s = session->set_input(0, x, sizeof(x)); !s.ok()) return fail(s);
  if (auto s = session->run(); !s.ok()) return fail(s);
  const auto y = session->output(0);
  if (!y.ok()) return fail(y.status());
  for (int64_t i = 0; i < y->numel(); ++i) std::printf("%g ", y->as<float>()[i]);
  return 0;
}
