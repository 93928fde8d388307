// On a machine without an operating system, whose platform is linked here in place of this
// machine's: a deadline needs a clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "lazyrt/static_memory.h"
#include "platforms/baremetal/baremetal.h"
#include "tests/support/tiny_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt {
namespace {

TEST(NoClock, ADeadlineIsRefusedWhereTimeStandsStill) {
  std::vector<uint8_t> buffer(1 << 20);
  StaticMemory memory(buffer.data(), buffer.size());
  const test::AlignedBytes file = test::write_bundle(test::tiny_bundle());
  LoadOptions load;
  load.allocator = memory.hooks();
  const Result<Program> program = Program::load(file.span(), test::tiny_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = reference_backend();
  options.allocator = memory.hooks();
  EXPECT_TRUE(Session::create(program->method(0), options).ok());

  options.deadline_nanoseconds = 1;
  const Status refused = Session::create(program->method(0), options).status();
  EXPECT_EQ(refused.error(), Error::kUnsupported);
#if LAZYRT_MESSAGES
  EXPECT_THAT(refused.message(), testing::HasSubstr("no clock"));
#endif

  set_ticks_hook([] { return uint64_t{5}; });
  EXPECT_TRUE(Session::create(program->method(0), options).ok());
  set_ticks_hook(nullptr);
}

}  // namespace
}  // namespace lazyrt
