#pragma once

// For tests of hostile bundles: that what is accepted is computed as the reference computes it.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/loaded_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt::test {

/// Sets every input to random numbers and runs.
inline std::vector<float> run(const Method& method, const Backend* backend) {
  SessionOptions options;
  options.backend = backend;
  Result<Session> session = Session::create(method, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return {};
  for (size_t i = 0; i < method.input_count(); ++i) {
    const auto count = static_cast<size_t>(method.input(i).shape.numel());
    const std::vector<float> x = random_floats(count, static_cast<unsigned>(i) + 1);
    EXPECT_TRUE(session->set_input(i, x.data(), count * sizeof(float)).ok());
  }
  const Status status = session->run();
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok() ? floats(*session, 0) : std::vector<float>();
}

/// cpu and reference give the same output 0.
inline void expect_agreement(const BundleParts& parts) {
  const Loaded loaded(parts, default_ops());
  const std::vector<float> got = run(loaded.method(), cpu_backend());
  const std::vector<float> wanted = run(loaded.method(), reference_backend());
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 1e-4f * std::max(1.0f, std::fabs(wanted[i]))) << i;
  }
}

}  // namespace lazyrt::test
