#include "runtime/core/fault.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace lazyrt {
namespace {

Fault fail_with(int number) { return Fault(Error::kInvalidBundle, "number %d", number); }

Fault pass_on(int number) {
  LAZYRT_RETURN_IF_ERROR(fail_with(number).with_context("in %s", "it"));
  return {};
}

TEST(Fault, IsOkWithoutAnError) {
  const Fault none;
  EXPECT_TRUE(none.ok());
  EXPECT_EQ(none.error(), Error::kOk);
  EXPECT_STREQ(none.message(), "");
  EXPECT_TRUE(none.with_context("in it").ok());
  EXPECT_TRUE(none.at_node(1, "node 1", "add", "a.b").ok());
  EXPECT_TRUE(Status(none).ok());
  EXPECT_TRUE(Fault(Status()).ok());
}

TEST(Fault, CarriesItsTextOut) {
  const Status status = pass_on(7);
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_STREQ(status.message(), "in it: number 7");
  EXPECT_EQ(status.node(), -1);
  EXPECT_STREQ(status.op(), "");
}

TEST(Fault, AStatusStaysWhateverFailsLater) {
  const Status first = pass_on(1);
  for (int i = 2; i < 300; ++i) EXPECT_FALSE(pass_on(i).ok());
  EXPECT_STREQ(first.message(), "in it: number 1");
}

TEST(Fault, AnOlderOneHasItsKindButNeverAnothersText) {
  const Fault first = fail_with(1);
  const Fault second = Fault(Error::kBusy, "busy");
  EXPECT_EQ(first.error(), Error::kInvalidBundle);
  EXPECT_STREQ(first.message(), "");
  EXPECT_STREQ(first.with_context("in it").message(), "");
  EXPECT_EQ(Status(first).error(), Error::kInvalidBundle);
  EXPECT_STREQ(Status(first).message(), "");
  EXPECT_STREQ(second.message(), "busy");
}

TEST(Fault, AStatusCanBecomeOneAgain) {
  const Status kept = fail_with(1);
  const Fault other = fail_with(2);
  const Fault again = kept;
  EXPECT_STREQ(again.with_context("again").message(), "again: number 1");
  EXPECT_STREQ(other.message(), "");
  EXPECT_STREQ(kept.message(), "number 1");
}

TEST(Fault, TheFirstOfSeveralStays) {
  FirstFault first;
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(Fault(first).ok());
  first.add(Fault());
  EXPECT_TRUE(first.ok());
  first.add(fail_with(1));
  first.add(fail_with(2));
  first.add(Fault());
  EXPECT_FALSE(fail_with(3).ok());
  EXPECT_FALSE(first.ok());
  EXPECT_STREQ(Fault(first).message(), "number 1");
  EXPECT_EQ(Fault(first).error(), Error::kInvalidBundle);
  const FirstFault copy = first;
  EXPECT_STREQ(Fault(copy).with_context("again").message(), "again: number 1");
  EXPECT_STREQ(Fault(first).message(), "number 1");
}

/// The text of the one before may be an argument of the next.
TEST(Fault, MayQuoteTheLastOne) {
  const Fault first = fail_with(1);
  EXPECT_STREQ(Fault(Error::kBusy, "since %s", first.message()).message(), "since number 1");
}

TEST(Fault, ChangesItsKind) {
  const Fault fault = fail_with(1).as(Error::kUnsupported);
  EXPECT_EQ(fault.error(), Error::kUnsupported);
  EXPECT_STREQ(fault.message(), "number 1");
  EXPECT_EQ(Status(fault).error(), Error::kUnsupported);
}

TEST(Fault, SaysNodeOperatorAndModule) {
  const Status status = fail_with(1).at_node(12, "node 12 (add)", "add", "encoder.layers.0");
  EXPECT_STREQ(status.message(), "node 12 (add): number 1");
  EXPECT_EQ(status.node(), 12);
  EXPECT_STREQ(status.op(), "add");
  EXPECT_STREQ(status.module_path(), "encoder.layers.0");
  EXPECT_EQ(Status(fail_with(2)).node(), -1);  // not the last one's
  const std::string path(300, 'x');
  const Status cut = fail_with(1).at_node(0, "n", path.c_str(), path.c_str());
  EXPECT_EQ(cut.node(), 0);
  EXPECT_EQ(path.find(cut.module_path()), 0u);
  EXPECT_EQ(path.find(cut.op()), 0u);
}

TEST(Fault, IsTheThreadsOwn) {
  const Fault here = fail_with(1);
  Status there;
  std::thread([&] {
    EXPECT_STREQ(here.message(), "");  // of another thread
    there = fail_with(2);
  }).join();
  EXPECT_STREQ(here.message(), "number 1");
  EXPECT_STREQ(there.message(), "number 2");
}

}  // namespace
}  // namespace lazyrt
