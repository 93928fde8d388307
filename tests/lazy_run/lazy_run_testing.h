#pragma once

// lazy-run as a user starts it, in a folder of its own with the example bundle, m.lzb.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lazyrt/runtime.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/example_bundle.h"

namespace lazyrt::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
  /// The last line of stdout.
  Json json() const {
    const size_t end = out.find_last_not_of('\n');
    const size_t begin = out.rfind('\n', end);
    return Json::parse(out.substr(begin == std::string::npos ? 0 : begin + 1));
  }
};

inline std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class LazyRun : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("lazy_run_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    save("m.lzb", example_bundle(default_ops()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void save(const std::string& name, const BundleParts& parts) {
    const AlignedBytes file = write_bundle(parts);
    write(name, file.data(), file.size());
  }
  void write(const std::string& name, const void* data, size_t bytes) {
    std::ofstream(at(name), std::ios::binary)
        .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  }
  /// As NumPy writes it.
  void write_npy(const std::string& name, const std::string& descr, const std::string& shape,
                 const void* data, size_t bytes) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(118, ' ');
    header.back() = '\n';
    std::string file = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header;
    file.append(static_cast<const char*>(data), bytes);
    write(name, file.data(), file.size());
  }
  void write_inputs() {
    write_npy("x.npy", "<f4", "(2, 3)", kExampleX, sizeof(kExampleX));
    write_npy("ids.npy", "<i8", "(2,)", kExampleIds, sizeof(kExampleIds));
  }
  std::string inputs() const {
    return " --input x=" + at("x.npy") + " --input ids=" + at("ids.npy");
  }

  Outcome run(const std::string& arguments) const {
    const std::string command =
        std::string(LAZY_RUN) + " " + arguments + " >" + at("stdout") + " 2>" + at("stderr");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read(at("stdout")), read(at("stderr"))};
  }

  /// No file may grow beyond `blocks` of 512 bytes: writing more fails, as on a full disk. Standard
  /// output and error go through pipes.
  Outcome run_limited(const std::string& arguments, int blocks) const {
    const std::string command = "trap '' XFSZ; (ulimit -f " + std::to_string(blocks) + "; " +
                                std::string(LAZY_RUN) + " " + arguments + " 2>&1 >/dev/null)";
    FILE* pipe = popen(command.c_str(), "r");
    Outcome outcome;
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) outcome.err += static_cast<char>(c);
    const int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return outcome;
  }

  fs::path folder_;
};

}  // namespace lazyrt::test
