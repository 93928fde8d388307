// make_bundles FOLDER [CASES.json]...: writes what lazyrt-conformance runs, with the results that
// the reference gives on this machine: FOLDER/manifest.json, expectations.txt and the bundles. The
// further lists name bundles that lie in FOLDER already, made by export_bundles.py.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/npy.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/fuzz/bundle_edit.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/case_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/example_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::AlignedBytes;
using test::BundleParts;

void require(const Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + status.message());
}

Program load(const AlignedBytes& file, const std::string& what) {
  Result<Program> program = Program::load(file.span(), default_ops());
  require(program.status(), what);
  return std::move(*program);
}

Session reference_session(const Method& method, const std::string& what) {
  SessionOptions options;
  options.backend = reference_backend();
  Result<Session> session = Session::create(method, options);
  require(session.status(), what);
  return std::move(*session);
}

Json sample_step(size_t sample) { return {{"sample", sample}}; }

/// A case as lines of words with tabs between, for machines that read no JSON:
/// platforms/baremetal/conformance/case_list.h.
void write_lines(const Json& c, std::ostream* out) {
  const auto text = [](const Json& j, const char* key) { return j.value(key, std::string()); };
  *out << "case\t" << text(c, "id") << "\t" << text(c, "bundle") << "\t" << text(c, "method")
       << "\t" << text(c, "load_error") << "\t" << std::llround(c.value("tolerance", 0.0) * 1e12)
       << "\n";
  for (const Json& step : c.value("steps", Json::array())) {
    *out << "step\t" << text(step, "error");
    if (step.contains("sample")) {
      *out << "\t" << step.at("sample").get<size_t>();
    } else {
      *out << "\t-";
      for (const char* key : {"inputs", "outputs"}) {
        for (const auto& file : step.value(key, Json::array()))
          *out << "\t" << file.get<std::string>();
      }
    }
    *out << "\n";
  }
}

/// The folder while it is written.
class Folder {
 public:
  explicit Folder(const fs::path& path) : path_(path) {}

  void write(const std::string& name, const AlignedBytes& file) {
    fs::create_directories((path_ / name).parent_path());
    run::write_file((path_ / name).string(), file.data(), file.size());
  }
  std::string write_array(const std::string& name, const TensorView& tensor) {
    run::write_npy((path_ / name).string(), tensor);
    return name;
  }
  void add(Json one_case) { cases_.push_back(std::move(one_case)); }
  void add_all(const std::string& list) {
    std::ifstream file(list);
    for (const Json& one_case : Json::parse(file)) add(one_case);
  }
  /// Every sample of every method of a bundle that is there.
  void add_samples(const std::string& id, const std::string& name, const Program& program) {
    for (size_t m = 0; m < program.method_count(); ++m) {
      const Method method = program.method(m);
      Json steps = Json::array();
      for (size_t s = 0; s < method.sample_count(); ++s) steps.push_back(sample_step(s));
      add({{"id", id}, {"bundle", name}, {"method", method.name()}, {"steps", steps}});
    }
  }
  void finish() {
    std::ofstream manifest(path_ / "manifest.json");
    manifest << Json{{"format", 1}, {"cases", cases_}}.dump(1) << "\n";
    std::ofstream list(path_ / "manifest.txt");
    for (const Json& one_case : cases_) write_lines(one_case, &list);
    if (!manifest.flush() || !list.flush()) throw std::runtime_error("cannot write the manifest");
  }

 private:
  const fs::path path_;
  Json cases_ = Json::array();
};

/// Runs a method on the reference and keeps inputs and results as its sample in `parts`, which the
/// program was made of. Where the run is refused the results are zeros.
Status record_sample(const Program& program, size_t index, const std::vector<const void*>& inputs,
                     BundleParts* parts) {
  fb::MethodT& m = *parts->bundle.methods[index];
  Session session = reference_session(program.method(index), m.name);
  auto sample = std::make_unique<fb::SampleT>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fb::ValueT& value = *m.values[static_cast<size_t>(m.inputs[i]->value)];
    require(session.set_input(i, inputs[i], value.bytes), m.name);
    sample->inputs.push_back(parts->sample_blob(value, inputs[i]));
  }
  const Status ran = session.run();
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    const fb::ValueT& value = *m.values[static_cast<size_t>(m.outputs[i]->value)];
    const std::vector<uint8_t> zeros(value.bytes);
    const void* data = ran.ok() ? session.output(i)->data : zeros.data();
    sample->outputs.push_back(parts->sample_blob(value, data));
  }
  m.samples.push_back(std::move(sample));
  return ran;
}

/// A bundle for each op, with a method for each of its cases.
void write_op(const OpCases& op, Folder* folder) {
  BundleParts parts;
  std::vector<std::vector<GuardedTensor>> operands;
  for (const OpCase& c : op.cases) {
    operands.push_back(draw_operands(c, conformance_seed()));
    test::MethodBuilder method(&parts, c.name);
    test::add_case_node(&method, default_ops(), c,
                        [&](size_t i) { return operands.back()[i].view().data; });
  }
  const std::string name = std::string("ops/") + op.op->name + ".lzb";
  const AlignedBytes bare = test::write_bundle(parts);
  const Program program = load(bare, name);
  for (size_t i = 0; i < op.cases.size(); ++i) {
    const OpCase& c = op.cases[i];
    std::vector<const void*> inputs;
    for (size_t o = 0; o < c.operands.size(); ++o) {
      if (c.operands[o].is_given()) inputs.push_back(operands[i][o].view().data);
    }
    const Status ran = record_sample(program, i, inputs, &parts);
    Json step = sample_step(0);
    if (c.refused_at_run) step["error"] = error_name(Error::kOutOfRange);
    const bool as_said = c.refused_at_run ? ran.error() == Error::kOutOfRange : ran.ok();
    if (!as_said) throw std::runtime_error(name + " " + c.name + ": " + ran.message());
    folder->add({{"id", std::string("ops/") + op.op->name + "/" + c.name},
                 {"bundle", name},
                 {"method", c.name},
                 {"steps", {step}},
                 {"tolerance", c.tolerance}});
  }
  folder->write(name, test::write_bundle(parts));
}

BundleParts recorded_mixed() {
  BundleParts parts = test::mixed_bundle(default_ops());
  const std::vector<float> image = test::random_floats(12 * 12 * 3, 1);
  const int64_t ids[5] = {0, 3, 1, 2, 4};
  const AlignedBytes bare = test::write_bundle(parts);
  require(record_sample(load(bare, "mixed"), 0, {image.data(), ids}, &parts), "mixed");
  return parts;
}

/// A chain of relu at sizes within its bounds and beyond them, one after the other in one session.
void write_sizes(Folder* folder) {
  const AlignedBytes file = test::write_bundle(test::relu_chain(3));
  folder->write("programs/sizes.lzb", file);
  const Program program = load(file, "sizes");
  Session session = reference_session(program.method(0), "sizes");
  Json steps = Json::array();
  for (const int64_t n : {64, 1, 4096, 63, 5000, 7}) {
    std::vector<float> x = test::random_floats(static_cast<size_t>(n), static_cast<uint32_t>(n));
    const TensorView input = {x.data(), DType::kFloat32, Shape{n}};
    const std::string stem = "programs/sizes." + std::to_string(n);
    Json step = {{"inputs", {folder->write_array(stem + ".x.npy", input)}}};
    Status status = session.set_input(0, input);
    if (status.ok()) status = session.run();
    if (status.ok()) {
      step["outputs"] = {folder->write_array(stem + ".y.npy", *session.output(0))};
    } else {
      step["error"] = error_name(status.error());
    }
    steps.push_back(std::move(step));
  }
  folder->add({{"id", "programs/sizes"}, {"bundle", "programs/sizes.lzb"}, {"steps", steps}});
}

/// Files of all released formats.
void write_golden(Folder* folder) {
  for (const auto& entry : fs::recursive_directory_iterator(LAZYRT_GOLDEN)) {
    if (entry.path().extension() != ".lzb") continue;
    const std::string relative = fs::relative(entry.path(), LAZYRT_GOLDEN).string();
    const std::vector<uint8_t> bytes = run::read_file(entry.path().string());
    const AlignedBytes file(bytes.data(), bytes.size());
    folder->write("golden/" + relative, file);
    folder->add_samples("golden/" + relative.substr(0, relative.size() - 4), "golden/" + relative,
                        load(file, relative));
  }
}

/// Files that must be refused, with the error that this machine gives.
class Damaged {
 public:
  explicit Damaged(Folder* folder) : folder_(folder) {}

  /// One that is taken all the same is left out.
  void add(const std::string& name, const AlignedBytes& file) {
    LoadOptions options;
    options.check_data = true;
    const Result<Program> program = Program::load(file.span(), default_ops(), options);
    if (program.ok()) return;
    const std::string path = "damaged/" + name + ".lzb";
    folder_->write(path, file);
    folder_->add({{"id", "damaged/" + name},
                  {"bundle", path},
                  {"load_error", error_name(program.status().error())}});
  }

  void add_cut(const std::string& name, const AlignedBytes& file) {
    for (size_t i = 0; i < 16; ++i) {
      const size_t size = file.size() * i / 16;
      add(name + "_cut_at_" + std::to_string(size), AlignedBytes(file.data(), size));
    }
  }
  void add_flipped(const std::string& name, const AlignedBytes& file) {
    for (size_t i = 0; i < 48; ++i) {
      const size_t at = i < 24 ? i * 8 : file.size() * (i - 24) / 24;
      AlignedBytes flipped = file.copy();
      flipped[at] = static_cast<uint8_t>(flipped[at] ^ 0x10);
      add(name + "_flipped_at_" + std::to_string(at), flipped);
    }
  }
  /// Edited by rules, checksums right: what the verifier has to find.
  void add_edited(const std::string& name, const AlignedBytes& file) {
    for (uint64_t seed = 1; seed <= 150; ++seed) {
      BundleParts parts;
      if (!fuzz::read_parts(file.span(), &parts)) throw std::runtime_error(name);
      add(name + "_edited_" + std::to_string(seed), fuzz::mutate(default_ops(), seed, &parts));
    }
  }

 private:
  Folder* folder_;
};

void write_programs(Folder* folder) {
  Damaged damaged(folder);
  const auto write = [&](const std::string& name, const BundleParts& parts) {
    const AlignedBytes file = test::write_bundle(parts);
    folder->write("programs/" + name + ".lzb", file);
    folder->add_samples("programs/" + name, "programs/" + name + ".lzb", load(file, name));
    damaged.add_cut(name, file);
    damaged.add_flipped(name, file);
    damaged.add_edited(name, file);
  };
  write("example", test::example_bundle(default_ops()));
  write("branching", test::branching_bundle());
  write("mixed", recorded_mixed());
  for (const auto& entry : fs::directory_iterator(LAZYRT_FUZZ_SEEDS)) {
    const std::vector<uint8_t> bytes = run::read_file(entry.path().string());
    damaged.add("seed_" + entry.path().filename().string(),
                AlignedBytes(bytes.data(), bytes.size()));
  }
}

/// What is known to fail, under the names that the cases have here.
void write_expectations(const fs::path& path) {
  std::ifstream in(LAZYRT_EXPECTATIONS);
  std::ofstream out(path);
  for (std::string verdict, id, reason; in >> verdict >> id && std::getline(in, reason);) {
    if (verdict.rfind("XFAIL", 0) == 0) out << verdict << " ops/" << id << "@cpu" << reason << "\n";
  }
  if (!out.flush()) throw std::runtime_error("cannot write the expectations");
}

void write_all(const fs::path& path, int lists, char** list) {
  Folder folder(path);
  for (const OpCases& op : all_cases()) write_op(op, &folder);
  write_programs(&folder);
  write_sizes(&folder);
  write_golden(&folder);
  for (int i = 0; i < lists; ++i) folder.add_all(list[i]);
  write_expectations(path / "expectations.txt");
  folder.finish();
}

}  // namespace
}  // namespace lazyrt

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: make_bundles FOLDER [CASES.json]...\n");
    return 1;
  }
  try {
    lazyrt::write_all(argv[1], argc - 2, argv + 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_bundles: %s\n", error.what());
    return 1;
  }
  return 0;
}
