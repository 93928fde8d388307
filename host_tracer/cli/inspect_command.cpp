#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host_tracer/cli/c_array.h"
#include "host_tracer/cli/commands.h"
#include "host_tracer/cli/console.h"
#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html.h"
#include "host_tracer/support/partial_file.h"

namespace lazyrt {

Exit run_inspect(const InspectArguments& arguments) {
  const auto bundle = LoadedBundle::open(arguments.bundle);
  if (!bundle.ok()) return fail(bundle.failure(), arguments.json);
  const BundleInfo info = describe_bundle(**bundle);
  if (!arguments.report.empty()) {
    const auto written = write_text_file(arguments.report, html_report(info, nullptr));
    if (!written.ok()) return fail(written.failure(), arguments.json);
  }
  if (arguments.json) {
    print_json(bundle_json(info));
  } else {
    print_text(bundle_text(info, arguments.nodes));
  }
  return Exit::kDone;
}

Exit run_verify(const VerifyArguments& arguments) {
  LoadOptions limits;
  limits.memory_limit = arguments.memory_limit;
  limits.work_limit = arguments.work_limit;
  limits.node_work_limit = arguments.node_work_limit;
  const auto verified = verify_bundle(arguments.bundle, limits);
  if (!verified.ok()) return fail(verified.failure(), arguments.json);
  if (arguments.json) {
    print_json({{"bundle", arguments.bundle}, {"valid", true}});
  } else {
    std::printf("%s: valid; its data matches its checksum\n", arguments.bundle.c_str());
  }
  return Exit::kDone;
}

Exit run_c_array(const CArrayArguments& arguments) {
  if (!is_array_name(arguments.name)) return fail(no_array_name(arguments.name), arguments.json);
  const auto beside = std::filesystem::absolute(arguments.bundle).parent_path().string();
  const std::string folder = arguments.folder.empty() ? beside : arguments.folder;
  const auto written = write_c_array(arguments.bundle, arguments.name, folder);
  if (!written.ok()) return fail(written.failure(), arguments.json);
  if (arguments.json)
    print_json({{"bundle", arguments.bundle}, {"array", arguments.name}, {"folder", folder}});
  return Exit::kDone;
}

}  // namespace lazyrt
