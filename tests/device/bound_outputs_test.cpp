// Outputs bound to memory of the caller: every kernel writes only there, and results of a device
// stay in its memory.

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/conformance/case_table.h"
#include "tests/device/doubled_case.h"
#include "tests/device/far_test.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/dynamic_inputs.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::bytes_of;
using test::DoubledCase;
using test::far_counts;
using test::far_rules;
using test::FarBlock;
using test::Loaded;
using testing::HasSubstr;

/// Memory of the host with its tail and no byte more.
class HostBlock {
 public:
  explicit HostBlock(size_t bytes) {
    if (posix_memalign(&data_, kAlignment, bytes + kTailBytes) != 0) std::abort();
    std::memset(data_, 0x5A, bytes + kTailBytes);
  }
  ~HostBlock() { std::free(data_); }
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  void* data() const { return data_; }
  std::vector<uint8_t> read(size_t bytes) const {
    const auto* begin = static_cast<const uint8_t*>(data_);
    return {begin, begin + bytes};
  }

 private:
  void* data_ = nullptr;
};

class FarOutputs : public test::Far {
 protected:
  /// The same run of a case with and without memory for its outputs.
  static void expect_same(const DoubledCase& bundle, const Loaded& loaded,
                          const SessionOptions& options) {
    Result<Session> session = Session::create(loaded.method(), options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (size_t i = 0; i < bundle.inputs.size(); ++i)
      ASSERT_TRUE(session->set_input(i, bundle.inputs[i].view()).ok());
    if (!session->run().ok()) return;  // a bad index
    std::vector<std::vector<uint8_t>> expected;
    std::vector<std::unique_ptr<HostBlock>> blocks;
    for (size_t i = 0; i < 4; ++i) {
      expected.push_back(bytes_of(*session->output(i)));
      const size_t bytes = expected[i].size();
      blocks.push_back(std::make_unique<HostBlock>(bytes));
      const Status bound = session->bind_output(i, blocks[i]->data(), bytes + kTailBytes);
      ASSERT_TRUE(bound.ok()) << bound.message();
    }
    ASSERT_TRUE(session->run().ok());
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(blocks[i]->read(expected[i].size()), expected[i]) << i;
    EXPECT_EQ(session->stats().output_copy_bytes, 0u);
  }
};

TEST_F(FarOutputs, EveryKernelWritesWhereItsResultIsBound) {
  for (const CaseRef& c : case_refs()) {
    SCOPED_TRACE(c.id());
    DoubledCase bundle;
    if (!double_case(*c.op_case, &bundle)) continue;
    const Loaded loaded(bundle.parts, default_ops());
    if (!loaded.program.ok()) continue;
    for (const Backend* backend : {cpu_backend(), reference_backend()})
      expect_same(bundle, loaded, on(*backend));
  }
}

class FarMixedOutputs : public FarOutputs {
 protected:
  Session make(const Backend& backend) {
    Session session = test::make(mixed_.method(), on(backend));
    EXPECT_TRUE(session.set_input(0, image_.data(), image_.size() * sizeof(float)).ok());
    EXPECT_TRUE(session.set_input(1, ids_, sizeof(ids_)).ok());
    return session;
  }
  std::vector<std::vector<uint8_t>> results_alone() {
    Session session = make(*reference_backend());
    EXPECT_TRUE(session.run().ok());
    return {bytes_of(*session.output(0)), bytes_of(*session.output(1)),
            bytes_of(*session.output(2))};
  }

  const Loaded mixed_{test::mixed_bundle(default_ops()), default_ops()};
  const std::vector<float> image_ = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids_[5] = {1, 9, 0, 3, 3};
};

TEST_F(FarMixedOutputs, AResultThatStaysThereIsNotCopied) {
  const auto expected = results_alone();
  const FarBlock there(expected[1].size() + kTailBytes);
  Session session = make(far_reference_);
  ASSERT_TRUE(session.run().ok());
  for (const bool is_bound : {true, false, true}) {
    void* data = is_bound ? there.address() : nullptr;
    ASSERT_TRUE(
        session.bind_output(1, data, expected[1].size() + kTailBytes, &far_reference_).ok());
    far_counts().reset();
    ASSERT_TRUE(session.run().ok());
    EXPECT_EQ(far_counts().copies_out, is_bound ? 2 : 3);
    uint64_t copied = 0;
    for (size_t i = 0; i < session.node_count(); ++i)
      copied += session.node(i)->op == std::string("copy_out") ? session.node(i)->copied_bytes : 0;
    EXPECT_EQ(copied,
              expected[0].size() + expected[2].size() + (is_bound ? 0 : expected[1].size()));
    EXPECT_EQ(session.stats().output_copy_bytes, 0u);
    if (is_bound) {
      EXPECT_EQ(session.output(1)->data, there.address());
      EXPECT_EQ(there.read(expected[1].size()), expected[1]);
    } else {
      EXPECT_EQ(bytes_of(*session.output(1)), expected[1]);
    }
    EXPECT_EQ(bytes_of(*session.output(0)), expected[0]);
    EXPECT_FALSE(test::far_memory_is_open());
  }
}

TEST_F(FarMixedOutputs, AnySharesOfNodesAndPlaces) {
  const auto expected = results_alone();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const uint32_t part = random() % 5;
    far_rules().takes = [&](const OpEntry&, const NodeSpec&) { return random() % 5 <= part; };
    Session session = make(far_reference_);
    const HostBlock here[3] = {HostBlock(1024), HostBlock(1024), HostBlock(1024)};
    const FarBlock there[3] = {FarBlock(1024), FarBlock(1024), FarBlock(1024)};
    for (int round = 0; round < 4; ++round) {
      uint32_t where[3];
      for (size_t i = 0; i < 3; ++i) {
        where[i] = random() % 3;
        void* data = where[i] == 0 ? nullptr : where[i] == 1 ? here[i].data() : there[i].address();
        const Backend* device = where[i] == 2 ? &far_reference_ : nullptr;
        const Status status = session.bind_output(i, data, expected[i].size() + kTailBytes, device);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      const Status status = session.run();
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t i = 0; i < 3; ++i) {
        const size_t bytes = expected[i].size();
        EXPECT_EQ(where[i] == 0   ? bytes_of(*session.output(i))
                  : where[i] == 1 ? here[i].read(bytes)
                                  : there[i].read(bytes),
                  expected[i]);
      }
    }
  }
}

TEST_F(FarMixedOutputs, WhatTheHostMakesIsCopiedThere) {
  far_rules().takes = [](const OpEntry&, const NodeSpec&) { return false; };
  const auto expected = results_alone();
  Session session = make(far_reference_);
  const FarBlock there(expected[0].size());
  ASSERT_TRUE(session.bind_output(0, there.address(), expected[0].size(), &far_reference_).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(there.read(expected[0].size()), expected[0]);
  EXPECT_EQ(session.stats().output_copy_bytes, expected[0].size());
}

TEST_F(FarMixedOutputs, WhatCouldNotBeBoundIsBoundAgain) {
  const auto expected = results_alone();
  Session session = make(far_reference_);
  ASSERT_TRUE(session.run().ok());
  const size_t bytes = expected[1].size();
  const FarBlock there(bytes + kTailBytes);
  ASSERT_TRUE(session.bind_output(1, there.address(), bytes + kTailBytes, &far_reference_).ok());
  far_rules().binds = [] { return false; };
  const Status refused = session.run();
  EXPECT_THAT(refused.message(), HasSubstr("far cannot bind this"));
  far_rules().binds = nullptr;
  const Status ran = session.run();
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(there.read(bytes), expected[1]);
}

TEST_F(FarMixedOutputs, SaysWhatIsWrong) {
  Session session = make(far_reference_);
  const FarBlock there(1024);
  auto* odd = static_cast<uint8_t*>(there.address()) + 8;
  const Status status = session.bind_output(0, odd, 1000, &far_reference_);
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("output 'classes': memory of a device must be aligned to "
                                          "64 bytes, this is to 8"));
  EXPECT_THAT(session.bind_output(0, there.address(), 15, &far_reference_).message(),
              HasSubstr("output 'classes' takes 16 bytes (f32[1,4]), 15 are writable"));
  const test::FarBackend another = test::far_backend(nullptr);
  EXPECT_THAT(session.bind_output(0, there.address(), 1024, &another).message(),
              HasSubstr("'far' is no device of this session"));
}

TEST_F(FarOutputs, OtherSizes) {
  const Loaded bundle(test::dynamic_bundle());
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed, &random);
    Session session = test::make(bundle.method(), on(far_reference_));
    Session alone = test::make(bundle.method());
    const FarBlock total(512 * 12 + kTailBytes), mask_there(512 * 12);
    ASSERT_TRUE(
        session.bind_output(0, total.address(), 512 * 12 + kTailBytes, &far_reference_).ok());
    ASSERT_TRUE(session.bind_output(1, mask_there.address(), 512 * 12, &far_reference_).ok());
    for (const int64_t n : {6, 512, 2, 6}) {
      test::DynamicInputs inputs(4, n, seed);
      for (Session* s : {&session, &alone}) {
        inputs.set(s);
        ASSERT_TRUE(s->run().ok());
      }
      const size_t bytes = inputs.mask.size() * sizeof(float);
      EXPECT_EQ(total.read(bytes), bytes_of(*alone.output(0)));
      EXPECT_EQ(mask_there.read(bytes), bytes_of(*alone.output(1)));
    }
  }
}

}  // namespace
}  // namespace lazyrt
