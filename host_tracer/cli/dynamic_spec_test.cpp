#include "host_tracer/cli/dynamic_spec.h"

#include <gtest/gtest.h>

namespace lazyrt {
namespace {

TEST(DynamicSpec, AllParts) {
  const auto dim = parse_dynamic_spec("h.0.2=height:160..288/32");
  ASSERT_TRUE(dim.ok()) << dim.failure().text;
  EXPECT_EQ(dim->input, "h.0");
  EXPECT_EQ(dim->dim, 2);
  EXPECT_EQ(dim->symbol, "height");
  EXPECT_EQ(dim->min, 160);
  EXPECT_EQ(dim->max, 288);
  EXPECT_EQ(dim->multiple, 32);
}

TEST(DynamicSpec, ANameAloneLeavesTheBoundsToAnother) {
  const auto dim = parse_dynamic_spec("mask.-1=seq");
  ASSERT_TRUE(dim.ok()) << dim.failure().text;
  EXPECT_EQ(dim->dim, -1);
  EXPECT_FALSE(dim->min || dim->max);
}

TEST(DynamicSpec, ExtentsThatFollowFromAnother) {
  const auto both = parse_dynamic_spec("y.0=2*seq+1:1..8");
  ASSERT_TRUE(both.ok()) << both.failure().text;
  EXPECT_EQ(both->symbol, "seq");
  EXPECT_EQ(both->factor, 2);
  EXPECT_EQ(both->offset, 1);
  EXPECT_EQ(both->max, 8);
  EXPECT_EQ(parse_dynamic_spec("y.0=seq-3")->offset, -3);
  EXPECT_EQ(parse_dynamic_spec("y.0=32*w")->factor, 32);
  EXPECT_EQ(parse_dynamic_spec("y.0=seq-len:1..8")->symbol, "seq-len");
}

TEST(DynamicSpec, BadOnesAreNamed) {
  for (const char* text : {"",
                           "x",
                           "x.0",
                           "x=seq:1..8",
                           ".0=seq:1..8",
                           "x.0=",
                           "x.0=:1..8",
                           "x.zero=seq:1..8",
                           "x.0=seq:",
                           "x.0=seq:8",
                           "x.0=seq:1..",
                           "x.0=seq:..8",
                           "x.0=seq:1..8/",
                           "x.0=seq:1..8/0",
                           "x.0=seq:1..8/-2",
                           "x.0=seq:0..8",
                           "x.0=seq:9..8",
                           "x.0=seq:a..8",
                           "x.0=seq:1..8,",
                           "x.0=seq:1/2..8",
                           "x.0=2*",
                           "x.0=*seq:1..8",
                           "x.0=0*seq:1..8",
                           "x.0=seq+:1..8",
                           "x.0=seq*2:1..8",
                           "x.0=2*seq+n:1..8",
                           "x.0=seq:1..99999999999999999999"}) {
    const auto dim = parse_dynamic_spec(text);
    ASSERT_FALSE(dim.ok()) << text;
    EXPECT_EQ(dim.failure().error, Error::kInvalidArgument);
    EXPECT_EQ(dim.failure().text.rfind(std::string("--dynamic ") + text + ": ", 0), 0u)
        << dim.failure().text;
  }
}

}  // namespace
}  // namespace lazyrt
