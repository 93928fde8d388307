// lazy-run as a user meets it: command lines, files, JSON, exit codes.

#include "tests/lazy_run/lazy_run_testing.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::LazyRun;
using test::Outcome;
using test::read;
using testing::HasSubstr;

TEST_F(LazyRun, WithoutInputsItChecksTheSamples) {
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome o = run(at("m.lzb") + " --backend " + backend);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("sample 0, output 'y'"));
    EXPECT_THAT(o.out, HasSubstr("ok"));
  }
  const Json json = run(at("m.lzb") + " --json").json();
  EXPECT_EQ(json["samples"][0]["outputs"][0]["name"], "y");
  EXPECT_EQ(json["samples"][0]["ok"], true);
  EXPECT_EQ(json["inputs"][1]["name"], "ids");
}

TEST_F(LazyRun, AMismatchHasItsOwnCode) {
  test::BundleParts parts = test::example_bundle(default_ops());
  const uint64_t y = parts.bundle.methods[0]->samples[0]->outputs[0]->offset;
  const float wrong = 7.01f;
  std::memcpy(parts.samples.data() + y, &wrong, sizeof(wrong));
  save("wrong.lzb", parts);
  const Outcome o = run(at("wrong.lzb"));
  EXPECT_EQ(o.code, 4);
  EXPECT_THAT(o.out, HasSubstr("MISMATCH"));
  EXPECT_EQ(run(at("wrong.lzb") + " --json").json()["samples"][0]["ok"], false);
  EXPECT_EQ(run(at("wrong.lzb") + " --tolerance 0.01").code, 0);
  parts.bundle.methods[0]->samples[0]->absolute = 0.1f;
  save("told.lzb", parts);
  EXPECT_EQ(run(at("told.lzb")).code, 0);
}

TEST_F(LazyRun, SamplesOfAllVariantsAreChecked) {
  save("b.lzb", test::branching_bundle());
  const Outcome o = run(at("b.lzb") + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = o.json();
  ASSERT_EQ(json["samples"].size(), 3u);
  for (size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(json["samples"][s]["variant"], s);
    EXPECT_EQ(json["samples"][s]["ok"], true);
  }
  EXPECT_EQ(json["states"][0]["name"], "count");
  ASSERT_EQ(json["variants"].size(), 3u);
  EXPECT_EQ(json["variants"][1]["guards"][0]["text"], "bool(x[0] > 0)");
  EXPECT_EQ(json["variants"][1]["guards"][0]["seen"], false);
  EXPECT_EQ(json["variants"][1]["guards"][0]["line"], 12);
  EXPECT_EQ(json["variants"][2]["inputs"][0]["shape"], Json({2, 1}));
  EXPECT_EQ(run(at("b.lzb") + " --bench 0.01 --json").code, 0);
}

TEST_F(LazyRun, InputsOfAnyVariantRunAndABrokenGuardIsTold) {
  test::BundleParts parts = test::branching_bundle();
  parts.bundle.methods[0]->variants.erase(parts.bundle.methods[0]->variants.begin());
  save("b.lzb", parts);
  const float small[2] = {1, 2};
  write_npy("x.npy", "<f4", "(2, 1)", small, sizeof(small));
  const Outcome ran = run(at("b.lzb") + " --input x=" + at("x.npy") + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.json()["variant"], 1);
  EXPECT_EQ(ran.json()["outputs"][0]["shape"], Json({2, 1}));
  write_npy("x.npy", "<f4", "(4, 1)", test::kBranchingDown, 16);
  const Outcome guarded = run(at("b.lzb") + " --input x=" + at("x.npy"));
  EXPECT_EQ(guarded.code, 5);
  EXPECT_THAT(guarded.err, HasSubstr("bool(x[0] > 0) was true when exported, now false"));
  write_npy("x.npy", "<f4", "(3, 1)", test::kBranchingDown, 12);
  const Outcome shape = run(at("b.lzb") + " --input x=" + at("x.npy"));
  EXPECT_EQ(shape.code, 1);
  EXPECT_THAT(shape.err, HasSubstr("takes f32[4,1] or f32[2,1]"));
}

TEST_F(LazyRun, RunsNpyInputsAndWritesOutputs) {
  write_inputs();
  const Outcome o = run(at("m.lzb") + inputs() + " --output-dir " + at("out/deep") +
                        " --raw-output " + at("y.raw") + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = o.json();
  ASSERT_EQ(json["outputs"].size(), 1u);
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  EXPECT_EQ(json["outputs"][0]["dtype"], "f32");
  EXPECT_EQ(json["outputs"][0]["shape"], Json({2, 3}));
  const std::string raw = read(at("y.raw"));
  ASSERT_EQ(raw.size(), sizeof(test::kExampleY));
  EXPECT_EQ(std::memcmp(raw.data(), test::kExampleY, raw.size()), 0);
  const std::string npy = read(json["outputs"][0]["file"].get<std::string>());
  EXPECT_THAT(npy, testing::EndsWith(raw));
  EXPECT_THAT(npy, HasSubstr("'descr': '<f4'"));
}

TEST_F(LazyRun, ReadsARawFolderAndWidensIds) {
  const int32_t ids[2] = {2, 0};
  write("in0.bin", test::kExampleX, sizeof(test::kExampleX));
  write("in1.bin", ids, sizeof(ids));
  const std::string list = "in0.bin f32 2 2 3\nin1.bin i32 1 2\n";
  write("inputs.txt", list.data(), list.size());
  const Outcome o =
      run(at("m.lzb") + " --input-dir " + folder_.string() + " --raw-output " + at("y.raw"));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read(at("y.raw")),
            std::string(reinterpret_cast<const char*>(test::kExampleY), sizeof(test::kExampleY)));
  const std::string bad = "in0.bin f32 2 2 3\n";
  write("inputs.txt", bad.data(), bad.size());
  const Outcome short_list = run(at("m.lzb") + " --input-dir " + folder_.string());
  EXPECT_EQ(short_list.code, 1);
  EXPECT_THAT(short_list.err,
              HasSubstr("lists 1 inputs, the method takes 2: x f32[2,3], ids i64[2]"));
}

TEST_F(LazyRun, AnInputGivenSeveralTimesMakesRunsInARow) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {2});
  const int total = b.state("total", DType::kFloat32, {2});
  const int next = b.infer(default_ops(), test::add(), {total, x});
  b.method().states[0]->next = next;
  b.output("y", next);
  save("sum.lzb", parts);
  std::string arguments = at("sum.lzb") + " --output-dir " + at("out");
  for (int i = 0; i < 3; ++i) {
    const float values[2] = {static_cast<float>(i + 1), 10};
    const std::string name = "x" + std::to_string(i) + ".npy";
    write_npy(name, "<f4", "(2,)", values, sizeof(values));
    arguments += " --input x=" + at(name);
  }
  const Outcome o = run(arguments + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = o.json();
  ASSERT_EQ(json["runs"].size(), 3u);
  const float sums[3][2] = {{1, 10}, {3, 20}, {6, 30}};
  for (int i = 0; i < 3; ++i) {
    const std::string file = at("out") + "/run" + std::to_string(i) + "/y.npy";
    EXPECT_EQ(json["runs"][i]["outputs"][0]["file"], file);
    const std::string written = read(file);
    ASSERT_GE(written.size(), sizeof(sums[i]));
    EXPECT_EQ(written.substr(written.size() - sizeof(sums[i])),
              std::string(reinterpret_cast<const char*>(sums[i]), sizeof(sums[i])))
        << "run " << i;
  }
  EXPECT_THAT(run(arguments).out, HasSubstr("run 2:\ny f32"));
}

TEST_F(LazyRun, WrongInputsAreNamed) {
  write_inputs();
  const struct {
    std::string arguments;
    const char* message;
  } cases[] = {
      {" --input x=" + at("x.npy"), "no --input for: ids i64[2]"},
      {inputs() + " --input z=" + at("x.npy"), "no input 'z'; there is: x, ids"},
      {inputs() + " --input x=" + at("x.npy") + " --input x=" + at("x.npy") +
           " --input ids=" + at("ids.npy"),
       "'x' 3 times, but 'ids' 2 times: give an input once, or for each run"},
      {inputs() + " --bench 1 --input x=" + at("x.npy"), "--bench measures one run"},
      {" --input x=" + at("ids.npy") + " --input ids=" + at("ids.npy"),
       "input 'x' takes f32[2,3], '"},
      {" --input x", "'x' is not NAME=FILE.npy"},
      {" --backend gpu", "gpu"},
      {" --threads 0", "threads"},
      {" --bench 0", "bench"},
      {" --method back", "no method 'back'; there is: forward"},
      {" --wrong", "wrong"},
  };
  for (const auto& c : cases) {
    const Outcome o = run(at("m.lzb") + c.arguments);
    EXPECT_EQ(o.code, 1) << c.arguments;
    EXPECT_THAT(o.err, HasSubstr(c.message));
  }
}

TEST_F(LazyRun, CodesOfFilesAndBundles) {
  EXPECT_EQ(run("").code, 1);
  const Outcome missing = run(at("none.lzb"));
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("none.lzb"));
  write("text.lzb", "hello", 5);
  EXPECT_EQ(run(at("text.lzb")).code, 2);
  test::AlignedBytes newer = test::write_bundle(test::example_bundle(default_ops()));
  newer.prolog().major = 9;
  write("newer.lzb", newer.data(), newer.size());
  EXPECT_THAT(run(at("newer.lzb")).err, HasSubstr("format version 9."));
  EXPECT_EQ(run(at("newer.lzb")).code, 2);
  EXPECT_EQ(run(folder_.string()).code, 3);
  EXPECT_EQ(run(at("m.lzb") + " --output-dir " + at("m.lzb")).code, 3);
  EXPECT_EQ(run(at("m.lzb") + " --raw-output /no/such/dir/y").code, 3);
  write_inputs();
  EXPECT_EQ(
      run(at("m.lzb") + " --input x=" + at("gone.npy") + " --input ids=" + at("ids.npy")).code, 3);
}

TEST_F(LazyRun, ABadIndexIsARunError) {
  write_inputs();
  const int64_t bad[2] = {0, 3};
  write_npy("ids.npy", "<i8", "(2,)", bad, sizeof(bad));
  for (const char* backend : {" --backend cpu", " --backend reference"}) {
    const Outcome o = run(at("m.lzb") + inputs() + backend);
    EXPECT_EQ(o.code, 5);
    EXPECT_THAT(o.err, HasSubstr("node 0 (index_select)"));
  }
}

TEST_F(LazyRun, BenchPrintsWhatPeersPrint) {
  const Outcome o =
      run(at("m.lzb") + " --bench 0.01 --threads 2 --json --raw-output " + at("y.raw"));
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = o.json();
  EXPECT_GE(json["latencies_ms"].size(), 5u);
  for (const char* field :
       {"median_ms", "load_ms", "first_ms", "cpu_ms", "vmhwm_kb", "bytes", "arena_bytes"}) {
    EXPECT_GT(json[field].get<double>(), 0) << field;
  }
  for (const char* field : {"workspace_bytes", "packed_weight_bytes", "plan_bytes", "copies"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["bytes"], fs::file_size(at("m.lzb")));
  EXPECT_EQ(fs::file_size(at("y.raw")), sizeof(test::kExampleY));
  EXPECT_EQ(run(at("m.lzb") + " --bench 0.01").code, 0);
}

TEST_F(LazyRun, BenchDoesNotTouchTheSampleOutputs) {
  test::BundleParts parts = test::example_bundle(default_ops());
  const uint64_t y = parts.bundle.methods[0]->samples[0]->outputs[0]->offset;
  parts.samples[y] ^= 0x55;
  save("m.lzb", parts);
  EXPECT_EQ(run(at("m.lzb") + " --bench 0.01").code, 0);
}

TEST_F(LazyRun, WithoutSamplesItAsksForInputs) {
  test::BundleParts parts = test::example_bundle(default_ops());
  parts.bundle.methods[0]->samples.clear();
  parts.samples.clear();
  save("bare.lzb", parts);
  const Outcome o = run(at("bare.lzb"));
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("no samples: give --input for each of x f32[2,3], ids i64[2]"));
  const Outcome bench = run(at("bare.lzb") + " --bench 0.01");
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_THAT(bench.err, HasSubstr("made-up inputs"));
}

TEST_F(LazyRun, OutputNamesCannotLeaveTheFolder) {
  test::BundleParts parts = test::example_bundle(default_ops());
  fb::MethodT& m = *parts.bundle.methods[0];
  m.outputs[0]->name = "../../evil\xff";
  auto twin = std::make_unique<fb::BindingT>(*m.outputs[0]);
  twin->name = "../..|evil\xfe";
  m.outputs.push_back(std::move(twin));
  m.samples.clear();
  save("evil.lzb", parts);
  write_inputs();
  const Outcome o = run(at("evil.lzb") + inputs() + " --json --output-dir " + at("out"));
  ASSERT_EQ(o.code, 0) << o.err;
  const Json outputs = o.json()["outputs"];
  EXPECT_NE(outputs[0]["file"], outputs[1]["file"]);
  for (const Json& output : outputs) {
    EXPECT_EQ(fs::path(output["file"].get<std::string>()).parent_path(), folder_ / "out");
    EXPECT_TRUE(fs::exists(output["file"].get<std::string>()));
  }
}

TEST_F(LazyRun, FallbacksOfSeveralBundlesAreCounted) {
  const std::string scan = LAZYRT_SCAN_BUNDLE;
  const Outcome o = run("--fallbacks " + scan + " " + at("m.lzb") + " " + scan + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.json()["bundles"], 3);
  EXPECT_EQ(o.json()["nodes"], 2 * run(scan + " --json").json()["nodes"].get<int>() + 3);
  const Json first = o.json()["fallbacks"][0];
  EXPECT_EQ(first["op"], "scan");
  EXPECT_EQ(first["types"], "f32");
  EXPECT_EQ(first["backend"], "reference");
  EXPECT_THAT(first["reason"].get<std::string>(), HasSubstr("no cpu kernel"));
  EXPECT_EQ(first["bundles"], 2);
  EXPECT_EQ(first["nodes"], 8);
  EXPECT_THAT(run("--fallbacks " + scan).out, HasSubstr("scan has no cpu kernel\n"));
}

TEST_F(LazyRun, FallbacksAreOfTheChosenBackend) {
  const Outcome none = run("--fallbacks " + at("m.lzb") + " --backend reference");
  EXPECT_EQ(none.out, "0 of 3 nodes in 1 bundle run on another backend than reference\n");
  EXPECT_EQ(run("--fallbacks " + at("m.lzb") + " " + at("none.lzb")).code, 3);
  const Outcome two = run(at("m.lzb") + " " + at("m.lzb"));
  EXPECT_EQ(two.code, 1);
  EXPECT_THAT(two.err, HasSubstr("only --fallbacks takes several"));
}

TEST_F(LazyRun, HelpAndProfile) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* word : {"--input", "--bench", "Exit codes", "packed_weight_bytes"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  const Outcome profile = run(at("m.lzb") + " --profile");
  EXPECT_THAT(profile.out, HasSubstr("index_select"));
  EXPECT_EQ(run(at("m.lzb") + " --profile --json").json()["profile"].size(), 3u);
  EXPECT_EQ(run("--version").code, 0);
}

}  // namespace
}  // namespace lazyrt
