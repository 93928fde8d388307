// What a watch is told: every value by its name at the right moment, and the steps of a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "tests/support/branching_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/dynamic_inputs.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::Loaded;
using testing::ElementsAre;

std::string tap_text(const TapPoint& point) {
  char text[100];
  const size_t length = tap_name(point, text, sizeof(text));
  EXPECT_LT(length, sizeof(text));
  return std::to_string(point.variant) + "@" + text;
}

/// Keeps what it is told.
struct WatchLog {
  std::string selector = "*";
  std::vector<std::string> names;
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, Shape> shapes;
  std::vector<RunSpan::Kind> kinds;
  std::vector<std::string> ops;  ///< of spans that have a node
  uint64_t last_end = 0;
  size_t asked = 0;

  Watch watch() {
    Watch w;
    w.context = this;
    w.wants = [](void* self, const TapPoint& point) {
      ++static_cast<WatchLog*>(self)->asked;
      return tap_matches(point, static_cast<WatchLog*>(self)->selector);
    };
    w.take = [](void* self, const TapPoint& point, const TensorView& value) {
      static_cast<WatchLog*>(self)->take(point, value);
    };
    w.span = [](void* self, const RunSpan& span) { static_cast<WatchLog*>(self)->add(span); };
    return w;
  }
  void take(const TapPoint& point, const TensorView& value) {
    names.push_back(tap_text(point));
    shapes[names.back()] = value.shape;
    if (value.dtype == DType::kFloat32)
      values[names.back()].assign(value.as<float>(), value.as<float>() + value.numel());
  }
  void add(const RunSpan& span) {
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(last_end, span.end) << "told in the order of their ends";
    last_end = span.end;
    kinds.push_back(span.kind);
    EXPECT_EQ(span.node != nullptr, span.kind == RunSpan::Kind::kNode);
    if (span.node != nullptr) ops.push_back(span.node->op);
  }
};

struct WatchedSession {
  WatchedSession(const Loaded& bundle, const std::string& selector) {
    seen.selector = selector;
    watch = seen.watch();
    SessionOptions options = test::on_reference();
    options.watch = &watch;
    session.emplace(test::make(bundle.method(), options));
  }
  WatchLog seen;
  Watch watch;
  std::optional<Session> session;
};

void run_tiny(WatchedSession* watched) {
  ASSERT_TRUE(watched->session->set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(watched->session->set_input(1, test::kTinyIds, sizeof(test::kTinyIds)).ok());
  ASSERT_TRUE(watched->session->run().ok());
}

TEST(Watch, SeesEveryValueBeforeItsMemoryIsUsedAgain) {
  const Loaded tiny(test::tiny_bundle());
  WatchedSession w(tiny, "*");
  EXPECT_EQ(w.seen.asked, 6u);
  run_tiny(&w);
  EXPECT_THAT(w.seen.names, ElementsAre("0@body.act/index_select", "0@binary", "0@body.act/unary",
                                        "0@reshape", "0@twice", "0@binary_1"));
  EXPECT_THAT(w.seen.values["0@binary"], ElementsAre(5, 7, -57, 5, -15, 9))
      << "before relu is done in place";
  EXPECT_THAT(w.seen.values["0@body.act/unary"], ElementsAre(5, 7, 0, 5, 0, 9));
  EXPECT_THAT(w.seen.values["0@twice"], ElementsAre(10, 14, 0, 10, 0, 18))
      << "before the sum is written over it";
  EXPECT_THAT(w.seen.values["0@binary_1"], testing::ElementsAreArray(test::kTinyTotal));
  EXPECT_EQ(w.seen.shapes["0@reshape"], Shape({6}));
}

TEST(Watch, SelectsByNameNumberValueAndModule) {
  const Loaded tiny(test::tiny_bundle());
  const auto taken = [&](const std::string& selector) {
    WatchedSession w(tiny, selector);
    run_tiny(&w);
    return w.seen.names;
  };
  EXPECT_THAT(taken("binary_1"), ElementsAre("0@binary_1"));
  EXPECT_THAT(taken("binary"), ElementsAre("0@binary"));
  EXPECT_THAT(taken("body.act/unary"), ElementsAre("0@body.act/unary"));
  EXPECT_THAT(taken("body"), ElementsAre("0@body.act/index_select", "0@body.act/unary"));
  EXPECT_THAT(taken("body.act"), ElementsAre("0@body.act/index_select", "0@body.act/unary"));
  EXPECT_THAT(taken("body.ac"), ElementsAre());
  EXPECT_THAT(taken("4"), ElementsAre("0@twice"));
  EXPECT_THAT(taken("%4"), ElementsAre("0@binary"));
  EXPECT_THAT(taken("0@4"), ElementsAre("0@twice"));
  for (const char* none : {"1@4", "", "%", "6", "%0", "binary_2", "binary:1", "unary", "body.act/",
                           "99999999999999999999999999999999", "@"}) {
    EXPECT_THAT(taken(none), ElementsAre()) << none;
  }
}

TEST(Watch, NumbersRepeatsOfManyNodesInTheirOrder) {
  constexpr int kNodes = 20000;
  const char* modules[] = {"", "a", "a.b", "b"};
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  b.input("x", DType::kFloat32, {1});
  for (const char* module : modules) {
    b.method().sources.push_back(std::make_unique<fb::SourceT>());
    b.method().sources.back()->module_path = module;
  }
  std::map<std::string, int> seen;
  std::vector<std::string> expected;
  int last = b.node(test::add(), {0, 0}, DType::kFloat32, {1});
  expected.push_back("0@binary");
  seen["binary"] = 1;
  for (int i = 1; i < kNodes; ++i) {
    const int module = i * 7919 % 5 - 1;  // -1: no source, which is as module ""
    const bool sum = i % 3 == 0;
    last = sum ? b.node(test::add(), {last, last}, DType::kFloat32, {1}, last)
               : b.node(test::relu(), {last}, DType::kFloat32, {1}, last);
    b.method().nodes.back()->source = module;
    const std::string path = module < 1 ? "" : std::string(modules[module]) + "/";
    const std::string name = path + (sum ? "binary" : "unary");
    const int repeat = seen[name]++;
    expected.push_back("0@" + name + (repeat == 0 ? "" : "_" + std::to_string(repeat)));
  }
  b.output("y", last);
  const Loaded bundle(parts);
  WatchedSession w(bundle, "*");
  EXPECT_EQ(w.seen.asked, static_cast<size_t>(kNodes));
  const float x = 0;
  ASSERT_TRUE(w.session->set_input(0, &x, sizeof(x)).ok());
  ASSERT_TRUE(w.session->run().ok());
  EXPECT_EQ(w.seen.names, expected);
}

TEST(Watch, ANameIsAsLongAsItSays) {
  TapPoint point;
  point.op = "lstm";
  point.module_path = "encoder";
  point.repeat = 2;
  point.result = 1;
  char text[8];
  EXPECT_EQ(tap_name(point, text, sizeof(text)), 16u);
  EXPECT_STREQ(text, "encoder");
  EXPECT_EQ(tap_name(point, nullptr, 0), 16u);
  EXPECT_TRUE(tap_matches(point, "encoder/lstm_2:1"));
  EXPECT_FALSE(tap_matches(point, "encoder/lstm_2"));
}

TEST(Watch, TellsOfVariantsThatWereTried) {
  const Loaded bundle(test::branching_bundle());
  WatchedSession w(bundle, "*");
  ASSERT_TRUE(w.session->set_input(0, test::kBranchingDown, 16).ok());
  ASSERT_TRUE(w.session->run().ok());
  EXPECT_EQ(*w.session->variant(), 1u);
  bool tried = false;
  for (const std::string& name : w.seen.names) {
    EXPECT_TRUE(name[0] == '0' || name[0] == '1');
    tried = tried || name[0] == '0';
  }
  EXPECT_TRUE(tried);
  WatchedSession only(bundle, "1@*");
  ASSERT_TRUE(only.session->set_input(0, test::kBranchingDown, 16).ok());
  ASSERT_TRUE(only.session->run().ok());
  EXPECT_FALSE(only.seen.names.empty());
  for (const std::string& name : only.seen.names) EXPECT_EQ(name[0], '1');
}

TEST(Watch, SpansAreTheStepsOfARun) {
  const Loaded tiny(test::tiny_bundle());
  WatchedSession w(tiny, "none");
  EXPECT_TRUE(w.seen.kinds.empty());
  run_tiny(&w);
  using Kind = RunSpan::Kind;
  EXPECT_THAT(w.seen.kinds,
              ElementsAre(Kind::kInputs, Kind::kNode, Kind::kNode, Kind::kNode, Kind::kNode,
                          Kind::kNode, Kind::kNode, Kind::kOutputs, Kind::kRun));
  EXPECT_THAT(w.seen.ops,
              ElementsAre("index_select", "binary", "unary", "reshape", "twice", "binary"));
  EXPECT_TRUE(w.seen.names.empty());
}

TEST(Watch, AnIndexThatIsRefusedEndsWithItsSpan) {
  const Loaded tiny(test::tiny_bundle());
  WatchedSession w(tiny, "*");
  const int64_t ids[2] = {0, 7};
  ASSERT_TRUE(w.session->set_input(0, test::kTinyX, sizeof(test::kTinyX)).ok());
  ASSERT_TRUE(w.session->set_input(1, ids, sizeof(ids)).ok());
  EXPECT_EQ(w.session->run().error(), Error::kOutOfRange);
  EXPECT_TRUE(w.seen.names.empty());
  EXPECT_THAT(w.seen.kinds,
              ElementsAre(RunSpan::Kind::kInputs, RunSpan::Kind::kNode, RunSpan::Kind::kRun));
}

TEST(Watch, FollowsOtherSizes) {
  const Loaded bundle(test::dynamic_bundle());
  for (const bool reserve : {false, true}) {
    WatchLog seen;
    seen.selector = "reshape";
    const Watch watch = seen.watch();
    SessionOptions options = test::on_reference();
    options.watch = &watch;
    options.reserve = reserve;
    Session session = test::make(bundle.method(), options);
    for (const int64_t n : {6, 512, 2}) {
      test::DynamicInputs inputs(4, n, 1);
      inputs.set(&session);
      seen.kinds.clear();
      ASSERT_TRUE(session.run().ok());
      EXPECT_EQ(seen.shapes["0@reshape"], Shape({3 * n}));
      EXPECT_EQ(seen.kinds.front() == RunSpan::Kind::kBind, n != 6);
    }
    EXPECT_EQ(seen.names.size(), 3u);
  }
}

TEST(Watch, FunctionsMayBeLeftOut) {
  const Loaded tiny(test::tiny_bundle());
  WatchedSession nothing(tiny, "*");
  nothing.watch = {};
  SessionOptions options = test::on_reference();
  options.watch = &nothing.watch;
  nothing.session.emplace(test::make(tiny.method(), options));
  run_tiny(&nothing);
  WatchedSession all(tiny, "none");
  all.watch.wants = nullptr;
  options.watch = &all.watch;
  all.session.emplace(test::make(tiny.method(), options));
  run_tiny(&all);
  EXPECT_EQ(all.seen.names.size(), 6u);
}

}  // namespace
}  // namespace lazyrt
