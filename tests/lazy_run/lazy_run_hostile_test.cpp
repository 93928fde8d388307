// Reports of bundles whose texts and sizes are an attacker's: bytes are counted, not time.

#include "tests/lazy_run/lazy_run_testing.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::LazyRun;
using test::Outcome;
using test::read;
using testing::HasSubstr;

const std::string kTerminalCodes = "\x1b]0;owned\x07\x1b[31m\n\r\x7f\xc2\x9b\xff\xe2\x80\xae";

std::unique_ptr<fb::SourceT> source(const std::string& text) {
  auto source = std::make_unique<fb::SourceT>();
  source->aten = source->module_path = source->file = text;
  source->line = 1;
  return source;
}

/// x f64[1] and `nodes` relus one after the other, all from one source of these texts; and as many
/// guards of that source, which hold. With a sample.
test::BundleParts chain_of_one_source(size_t nodes, const std::string& text) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat64, {1});
  int y = x;
  for (size_t i = 0; i < nodes; ++i) y = b.infer(default_ops(), test::relu(), {y});
  b.output("y", y);
  fb::MethodT& m = b.method();
  m.sources.push_back(source(text));
  for (auto& node : m.nodes) node->source = 0;
  for (size_t i = 0; i < nodes; ++i) {
    auto guard = std::make_unique<fb::GuardT>();
    guard->kind = fb::GuardKind::Truth;
    guard->value = y;
    guard->seen_integer = 1;
    guard->source = 0;
    guard->text = text;
    m.guards.push_back(std::move(guard));
  }
  const double one = 1;
  auto sample = std::make_unique<fb::SampleT>();
  sample->inputs.push_back(parts.sample_blob(*m.values[static_cast<size_t>(x)], &one));
  sample->outputs.push_back(parts.sample_blob(*m.values[static_cast<size_t>(y)], &one));
  m.samples.push_back(std::move(sample));
  return parts;
}

/// The longest name was repeated for each node.
TEST_F(LazyRun, ReportsDoNotRepeatALongTextForEachNode) {
  constexpr size_t kNodes = 300, kMostBytes = 1000;
  save("long.lzb", chain_of_one_source(kNodes, std::string(kBundleMaxNameBytes, 'm')));
  const std::string file = at("long.lzb"), trace = at("trace.json");
  const Outcome json = run(file + " --json");
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(json.json()["reference_nodes"].size(), kNodes) << "they are what is counted";
  EXPECT_LT(json.out.size(), 2 * kNodes * kMostBytes) << "nodes and guards";
  EXPECT_EQ(json.json()["reference_nodes"][7]["module"], std::string(200, 'm') + "...");
  const Outcome profile = run(file + " --json --profile");
  EXPECT_EQ(profile.json()["profile"].size(), kNodes);
  EXPECT_LT(profile.out.size(), 3 * kNodes * kMostBytes);
  EXPECT_LT(run(file + " --profile").out.size(), kNodes * kMostBytes);
  const Outcome taps = run(file + " --tap '*' --json");
  EXPECT_EQ(taps.json()["taps"].size(), kNodes);
  EXPECT_LT(taps.out.size(), 3 * kNodes * kMostBytes);
  EXPECT_EQ(run(file + " --trace " + trace).code, 0);
  EXPECT_GT(Json::parse(read(trace))["traceEvents"].size(), kNodes);
  EXPECT_LT(fs::file_size(trace), (kNodes + 10) * kMostBytes);
}

void expect_plain(const std::string& text, const std::string& where) {
  for (const char c : text)
    ASSERT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n') << where << ": " << static_cast<int>(c);
}

TEST_F(LazyRun, NoNameReachesTheTerminalAsItIs) {
  test::BundleParts parts = chain_of_one_source(3, kTerminalCodes + "module");
  fb::MethodT& m = *parts.bundle.methods[0];
  m.name += kTerminalCodes;
  m.inputs[0]->name += kTerminalCodes;
  m.outputs[0]->name += kTerminalCodes;
  m.guards[0]->text = kTerminalCodes;
  save("codes.lzb", parts);
  m.samples.clear();
  save("bare.lzb", parts);
  m.outputs[0]->value = 99;
  save("refused.lzb", parts);
  const double minus_one = -1;
  write_npy("x.npy", "<f8", "(1,)", &minus_one, sizeof(minus_one));
  write_npy("wrong.npy", "<f8", "()", &minus_one, sizeof(minus_one));
  const std::string name =
      " --input \"$(printf 'x\\033]0;owned\\007\\033[31m\\n\\r\\177\\302\\233"
      "\\377\\342\\200\\256')\"=";
  const struct {
    std::string arguments;
    int code;
    const char* shown;
  } cases[] = {
      {at("codes.lzb"), 0, "output 'y\\x1b]0;owned\\x07"},
      {at("codes.lzb") + " --json", 0, "\"y\\u001b]0;owned\\u0007"},
      {at("codes.lzb") + " --profile", 0, "\\x9b\\xff\\xe2\\x80\\xaemodule"},
      {at("codes.lzb") + " --profile --json", 0, "\\u007f\\u009b\\ufffd\\u202emodule"},
      {at("codes.lzb") + " --tap '*'", 0, "tap \\x1b]0;owned\\x07"},
      {at("codes.lzb") + " --tap '*' --json --output-dir " + at("out"), 0, "\\u007f\\u009b\\ufffd"},
      {at("codes.lzb") + " --tap nothing", 1, "nothing is called"},
      {at("codes.lzb") + name + at("x.npy"), 5,
       "another path than the exported one: \\x1b]0;owned\\x07"},
      {at("codes.lzb") + name + at("wrong.npy"), 1, "input 'x\\x1b]0;owned\\x07"},
      {at("codes.lzb") + " --input x=" + at("x.npy"), 1, "there is: x\\x1b]0;owned\\x07"},
      {at("codes.lzb") + " --method none", 1, "no method 'none'"},
      {at("codes.lzb") + " --explain " + std::string("00000000:0"), 1,
       "this version has no message text"},
      {at("bare.lzb"), 1, "give --input for each of x\\x1b]0;owned\\x07"},
      {at("refused.lzb"), 2, "output 'y\\x1b]0;owned\\x07"},
  };
  for (const auto& c : cases) {
    const Outcome o = run(c.arguments);
    EXPECT_EQ(o.code, c.code) << c.arguments << o.err;
    EXPECT_THAT(o.out + o.err, HasSubstr(c.shown)) << c.arguments;
    expect_plain(o.out, c.arguments);
    expect_plain(o.err, c.arguments);
  }
  EXPECT_EQ(run(at("codes.lzb") + " --trace " + at("trace.json")).code, 0);
  expect_plain(read(at("trace.json")), "trace");
}

/// y u8[2^26] = 1: float32 of it is four times as large, and was in memory as a whole.
TEST_F(LazyRun, RawOutputIsWidenedInPieces) {
  constexpr int64_t kBytes = int64_t{1} << 26;
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  fb::FullT ones;
  ones.dtype = fb::DType::UInt8;
  ones.shape = {kBytes};
  ones.integer = 1;
  b.output("y", b.infer(default_ops(), ones, {}));
  save("wide.lzb", parts);
  const auto peak_kb = [&](const std::string& options) {
    const Outcome o = run(at("wide.lzb") + " --bench 0.001 --json" + options);
    EXPECT_EQ(o.code, 0) << o.err;
    return o.json()["vmhwm_kb"].get<int64_t>();
  };
  const int64_t plain = peak_kb("");
  EXPECT_LT(peak_kb(" --raw-output " + at("y.raw")), plain + kBytes / 1024 / 4);
  EXPECT_EQ(fs::file_size(at("y.raw")), static_cast<uintmax_t>(4 * kBytes));
  EXPECT_LT(peak_kb(" --output-dir " + at("out")), plain + kBytes / 1024 / 4);
}

/// A variant of this file has an output of one element at its sample's sizes, and a sample of 1000:
/// what lies behind the output was compared, too.
TEST_F(LazyRun, AnOutputIsNotComparedBeyondItsEnd) {
  const Outcome o = run(LAZYRT_SHRINKING_OUTPUT);
  if (o.code == 2) return;  // the loader knows better, by now
  EXPECT_EQ(o.code, 4) << o.err;
  EXPECT_THAT(o.out, HasSubstr("output 'y': is f32[1], must be f32[1000]: MISMATCH"));
  const Outcome json = run(LAZYRT_SHRINKING_OUTPUT " --json");
  EXPECT_EQ(json.code, 4);
  EXPECT_EQ(json.json()["samples"][0]["outputs"][0]["types"], "is f32[1], must be f32[1000]");
}

}  // namespace
}  // namespace lazyrt
