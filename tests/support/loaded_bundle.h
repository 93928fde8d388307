#pragma once

// For tests of sessions: a bundle in memory, a session on the reference backend, its results.

#include <gtest/gtest.h>

#include <vector>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt::test {

/// A loaded bundle that owns its bytes.
struct Loaded {
  explicit Loaded(const BundleParts& parts, const OpTable& ops = tiny_ops())
      : file(write_bundle(parts)), program(Program::load(file.span(), ops)) {
    EXPECT_TRUE(program.ok()) << program.status().message();
  }
  Method method() const { return program->method(0); }

  AlignedBytes file;
  Result<Program> program;
};

inline SessionOptions on_reference() {
  SessionOptions options;
  options.backend = reference_backend();
  return options;
}

inline Session make(const Method& method, const SessionOptions& options = on_reference()) {
  Result<Session> session = Session::create(method, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

inline std::vector<float> floats(const Session& session, size_t output) {
  const Result<TensorView> view = session.output(output);
  EXPECT_TRUE(view.ok()) << view.status().message();
  return {view->as<float>(), view->as<float>() + view->numel()};
}

}  // namespace lazyrt::test
