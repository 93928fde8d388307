#pragma once

// The commands of lazy-export. Each prints its output and returns the exit code.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/cli/exit_codes.h"

namespace lazyrt {

struct ExportArguments {
  std::string model;                    ///< .pt2 or .pt
  std::string output;                   ///< .lzb
  std::vector<std::string> inputs;      ///< --input
  std::vector<std::string> samples;     ///< --sample, one more trace each
  std::vector<std::string> dynamic;     ///< --dynamic, dims that vary
  std::vector<std::string> allow;       ///< --allow, ids of findings
  std::vector<std::string> dump_after;  ///< --dump-after
  std::string command_line;             ///< for the report
  std::string report;                   ///< --report, HTML; empty: none
  std::string c_array;                  ///< --c-array, the array's name; empty: none
  bool dump_trace = false;
  bool json = false;
  bool use_sample_shape = false;  ///< --static
  bool second_trace = true;
  bool strip_samples = false;
  bool quiet = false;
  std::string check = "full";  ///< --check: none, sample or full
  bool keep = false;           ///< keep a bundle that fails the check
};
Exit run_export(const ExportArguments& arguments);

struct InspectArguments {
  std::string bundle;
  std::string report;  ///< HTML; empty: none
  bool json = false;
  bool nodes = false;
};
Exit run_inspect(const InspectArguments& arguments);

struct CompareArguments {
  std::string bundle;
  std::string model;
  std::vector<std::string> inputs;  ///< --input
  std::string backend = "cpu";
  int threads = 1;
  double relative = 0;  ///< --bound; 0: as the check after an export
  bool quiet = false;
  bool json = false;
};
Exit run_compare(const CompareArguments& arguments);

struct VerifyArguments {
  std::string bundle;
  uint64_t memory_limit = 0;  ///< as LoadOptions, all three
  uint64_t work_limit = 0;
  uint64_t node_work_limit = 0;
  bool json = false;
};
Exit run_verify(const VerifyArguments& arguments);

struct CArrayArguments {
  std::string bundle;
  std::string name;    ///< of the array
  std::string folder;  ///< empty: the bundle's
  bool json = false;
};
Exit run_c_array(const CArrayArguments& arguments);

struct ExplainArguments {
  std::string code;    ///< the error code that Status::message() gives in a library without texts
  std::string bundle;  ///< that the program ran
  bool json = false;
};
Exit run_explain(const ExplainArguments& arguments);

}  // namespace lazyrt
