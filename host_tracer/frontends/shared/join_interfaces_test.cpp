#include "host_tracer/frontends/shared/join_interfaces.h"

#include <gtest/gtest.h>

namespace lazyrt {
namespace {

constexpr char kPlain[] =
    R"({"version":2,"parameters":[{"name":"x"}],"result":{"kind":"value","value":3}})";

std::string with(const std::string& more) {
  return std::string(kPlain, sizeof kPlain - 2) + "," + more + "}";
}

TEST(JoinInterfaces, DemandsOfAllCapturesCount) {
  std::string interface = with(R"("whole":["x"])");
  EXPECT_TRUE(join_interfaces(with(R"("whole":["x"],"contiguous":["x"])"), &interface));
  EXPECT_EQ(interface, with(R"("whole":["x"],"contiguous":["x"])"));
  EXPECT_TRUE(join_interfaces(kPlain, &interface));
  EXPECT_EQ(interface, with(R"("whole":["x"],"contiguous":["x"])"));
}

TEST(JoinInterfaces, AModeIsDemandedIfOneCaptureDoes) {
  const std::string demand = R"("no_grad":true)";
  std::string interface = kPlain;
  EXPECT_TRUE(join_interfaces(with(demand), &interface));
  EXPECT_EQ(interface, with(demand));
  EXPECT_TRUE(join_interfaces(with(demand), &interface));
  EXPECT_TRUE(join_interfaces(kPlain, &interface));
  EXPECT_EQ(interface, with(demand));
}

TEST(JoinInterfaces, NoneDemandsNothing) {
  std::string interface;
  EXPECT_TRUE(join_interfaces(kPlain, &interface));
  EXPECT_TRUE(join_interfaces("", &interface));
  EXPECT_EQ(interface, kPlain);
}

TEST(JoinInterfaces, OtherNestingIsTold) {
  std::string interface = kPlain;
  const auto joins = [&](const std::string& result) {
    return join_interfaces(R"({"version":2,"parameters":[{"name":"x"}],"result":)" + result + "}",
                           &interface);
  };
  EXPECT_TRUE(joins(R"({"kind":"value","value":4})"));
  EXPECT_FALSE(joins(R"({"kind":"value","value":"4"})"));
  EXPECT_FALSE(joins(R"({"kind":"tuple","items":[]})"));
  EXPECT_EQ(interface, kPlain);
}

}  // namespace
}  // namespace lazyrt
