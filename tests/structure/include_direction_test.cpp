// Arrows point one way: who may include whom, proven over the real #includes.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/structure/source_tree.h"

namespace lazyrt::test {
namespace {

/// Parts of the repository by the longest path prefix. The order does not matter.
const std::map<std::string, std::string> kParts = {
    {"schema/", "schema"},
    {"lazyrt/", "include"},
    {"runtime/include/lazyrt/", "include"},
    {"runtime/platform/", "platform"},
    {"runtime/core/", "core"},
    {"runtime/op/", "op"},
    {"runtime/bundle/", "bundle"},
    {"runtime/backend/", "backend"},
    {"runtime/exec/", "exec"},
    {"runtime/backends/reference/", "backend_reference"},
    {"runtime/backends/cpu/", "backend_cpu"},
    {"runtime/backends/vulkan/", "backend_vulkan"},
    {"kernels/", "kernels"},
    {"kernels/common/", "kernels_common"},
    {"kernels/registry.cpp", "registry"},
    {"host_tracer/support/", "support"},
    {"host_tracer/trace/", "trace"},
    {"host_tracer/record/", "record"},
    {"host_tracer/lower/", "lower"},
    {"host_tracer/graph/", "graph"},
    {"host_tracer/passes/", "passes"},
    {"host_tracer/dynamic/", "dynamic"},
    {"host_tracer/plan/", "plan"},
    {"host_tracer/emit/", "emit"},
    {"host_tracer/aten/", "aten"},
    {"host_tracer/compile/", "compile"},
    {"host_tracer/report/", "report"},
    {"host_tracer/check/", "check"},
    {"host_tracer/export/", "export"},
    {"host_tracer/frontends/", "frontends"},
    {"host_tracer/cpp/", "cpp"},
    {"host_tracer/cli/", "cli"},
    {"host_tracer/python/", "python"},
    {"platforms/", "platforms"},
    {"tests/", "tests"},
};

/// What each part may include besides itself. `kernels` and the facets are refined below.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"schema", {}},
    {"include", {}},
    {"platform", {"include"}},
    {"core", {"include", "platform"}},
    {"op", {"include", "core", "schema"}},
    {"bundle", {"include", "platform", "core", "schema", "op"}},
    {"backend", {"include", "core", "op"}},
    {"exec", {"include", "platform", "core", "schema", "op", "bundle", "backend"}},
    {"backend_reference", {"include", "core", "op", "bundle", "backend"}},
    {"backend_cpu", {"include", "platform", "core", "schema", "op", "bundle", "backend"}},
    {"backend_vulkan", {"include", "platform", "core", "schema", "op", "bundle", "backend"}},
    {"kernels_common", {"include", "core", "schema", "op"}},
    {"kernels", {"include", "core", "schema", "op", "kernels_common"}},
    {"registry", {"include", "core", "schema", "op", "kernels"}},
    {"platforms", {"include", "platform"}},
};

/// What each part of the host may include of the host, besides itself: what PyTorch does becomes a
/// trace, and from there on LibTorch is forgotten. Of the device each may include all.
const std::map<std::string, std::set<std::string>> kHostArrows = {
    {"support", {}},
    {"trace", {"support"}},
    {"record", {"support", "trace"}},
    {"lower", {"support", "trace", "record"}},
    {"graph", {"support", "trace"}},
    {"passes", {"support", "graph"}},
    {"dynamic", {"support", "graph", "passes"}},
    {"plan", {"support", "graph"}},
    {"emit", {"support", "trace", "graph", "dynamic", "plan"}},
    {"aten", {"support", "trace", "graph"}},
    {"compile", {"support", "trace", "graph", "aten", "passes", "dynamic", "plan", "emit"}},
    {"report", {"support", "trace", "graph", "dynamic"}},
    {"check", {"support", "trace", "record", "graph", "dynamic", "compile", "report"}},
    {"export", {"support", "trace", "record", "aten", "dynamic", "compile", "report", "check"}},
    {"frontends", {"support", "trace", "record", "compile"}},
    {"cpp", {"support", "trace", "compile", "check", "export", "frontends"}},
    {"cli",
     {"support", "trace", "record", "graph", "compile", "report", "check", "export", "frontends"}},
    {"python", {"support", "trace", "record", "dynamic", "compile", "report", "check", "export"}},
};
const std::set<std::string> kUsesTorch = {"record", "lower", "check", "frontends", "cpp", "python"};

bool is_host(const std::string& part) { return kHostArrows.count(part) == 1; }

/// The part of a repository path, or "" for what is outside (system, libraries).
std::string part_of(const std::string& path) {
  std::string best;
  std::string part;
  for (const auto& [prefix, name] : kParts) {
    if (starts_with(path, prefix) && prefix.size() > best.size()) best = prefix, part = name;
  }
  return part;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// A file of a kernel's CPU or Vulkan form: `conv2d_cpu.cpp`, `rnn_cpu.h`.
bool is_facet(const std::string& path, const char* facet) {
  return starts_with(path, "kernels/") && (ends_with(path, std::string(facet) + ".cpp") ||
                                           ends_with(path, std::string(facet) + ".h"));
}

std::set<std::string> allowed(const SourceFile& file) {
  const std::string part = part_of(file.path);
  std::set<std::string> parts;
  if (is_host(part)) {
    parts = kHostArrows.at(part);
    for (const auto& [name, unused] : kMayInclude) parts.insert(name);
  } else {
    parts = kMayInclude.at(part);
  }
  parts.insert(part);
  if (is_facet(file.path, "_cpu")) parts.insert({"backend", "backend_cpu"});
  if (is_facet(file.path, "_vk")) parts.insert({"backend", "backend_vulkan"});
  return parts;
}

/// A kernel's folder may not include another op's folder.
bool crosses_ops(const SourceFile& file, const Include& include) {
  return part_of(file.path) == "kernels" && part_of(include.target) == "kernels" &&
         folder_of(include.target) != "kernels" &&
         folder_of(include.target) != folder_of(file.path);
}

/// The library that a system include belongs to, as far as the rules name it.
std::string library_of(const std::string& target) {
  static const std::pair<const char*, const char*> kLibraries[] = {{"flatbuffers/", "flatbuffers"},
                                                                   {"torch/", "torch"},
                                                                   {"ATen/", "torch"},
                                                                   {"c10/", "torch"},
                                                                   {"xnnpack", "xnnpack"},
                                                                   {"pthreadpool", "xnnpack"},
                                                                   {"cpuinfo", "xnnpack"},
                                                                   {"vulkan/", "vulkan"},
                                                                   {"hwy/", "highway"},
                                                                   {"CLI/", "cli"},
                                                                   {"nlohmann/", "json"}};
  for (const auto& [prefix, library] : kLibraries) {
    if (starts_with(target, prefix)) return library;
  }
  return "";
}

/// Which parts may use a library. A library that is not here may be used by none.
bool may_use(const SourceFile& file, const std::string& library) {
  const std::string part = part_of(file.path);
  if (library == "flatbuffers")
    return part != "core" && part != "platform" && part != "include" && part != "exec";
  if (library == "torch") return kUsesTorch.count(part) == 1;
  if (library == "xnnpack") return part == "backend_cpu" || is_facet(file.path, "_cpu");
  if (library == "vulkan") return part == "backend_vulkan" || is_facet(file.path, "_vk");
  if (library == "highway")
    return part == "backend_cpu" || part == "kernels" || part == "kernels_common";
  if (library == "cli" || library == "json") return is_host(part) || part == "platforms";
  return library.empty();
}

const std::vector<SourceFile>& product() {
  static const std::vector<SourceFile> kFiles =
      source_files({"schema", "runtime", "kernels", "host_tracer", "platforms"});
  return kFiles;
}

TEST(IncludeDirection, EveryFileBelongsToAPart) {
  EXPECT_GT(product().size(), 50u);
  for (const SourceFile& file : product()) EXPECT_NE(part_of(file.path), "") << file.path;
}

TEST(IncludeDirection, OursIncludeOnlyWhatTheyMay) {
  for (const SourceFile& file : product()) {
    const std::set<std::string> parts = allowed(file);
    for (const Include& include : file.includes) {
      const std::string part = part_of(include.target);
      if (part.empty()) continue;
      EXPECT_EQ(parts.count(part), 1u)
          << file.path << ":" << include.line << " (" << part_of(file.path) << ") includes "
          << include.target << " (" << part << ")";
      EXPECT_FALSE(crosses_ops(file, include))
          << file.path << ":" << include.line << " includes another op's " << include.target;
    }
  }
}

TEST(IncludeDirection, LibrariesStayWhereTheyBelong) {
  for (const SourceFile& file : product()) {
    for (const Include& include : file.includes) {
      if (!part_of(include.target).empty()) continue;
      const std::string library = library_of(include.target);
      EXPECT_TRUE(may_use(file, library))
          << file.path << ":" << include.line << " includes " << include.target;
    }
  }
}

TEST(IncludeDirection, TheRulesCatchWhatTheyShould) {
  const SourceFile exec = {"runtime/exec/x.cpp", {}, {}};
  EXPECT_EQ(allowed(exec).count("kernels"), 0u);
  EXPECT_EQ(allowed(exec).count("backend_cpu"), 0u);
  const SourceFile pass = {"host_tracer/passes/x.cpp", {}, {}};
  EXPECT_EQ(part_of("host_tracer/trace/trace.h"), "trace");
  EXPECT_EQ(allowed(pass).count("record"), 0u);
  EXPECT_EQ(allowed(pass).count("op"), 1u);
  EXPECT_FALSE(may_use(pass, library_of("ATen/ATen.h")));
  const SourceFile conv = {"kernels/conv/conv2d.cpp", {}, {}};
  EXPECT_EQ(allowed(conv).count("backend_cpu"), 0u);
  EXPECT_TRUE(crosses_ops(conv, {"kernels/linear/linear_shape.h", true, 1}));
  EXPECT_FALSE(crosses_ops(conv, {"kernels/conv/conv_shape.h", true, 1}));
  EXPECT_FALSE(may_use(conv, library_of("xnnpack.h")));
  EXPECT_FALSE(may_use(exec, library_of("torch/script.h")));
  EXPECT_TRUE(may_use({"kernels/conv/conv2d_cpu.cpp", {}, {}}, library_of("xnnpack.h")));
}

}  // namespace
}  // namespace lazyrt::test
