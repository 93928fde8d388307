// lazy-export: a PyTorch model becomes a LazyRT bundle.

#include <CLI/CLI.hpp>

#include "host_tracer/cli/commands.h"
#include "host_tracer/cli/console.h"
#include "lazyrt/backend_choice.h"

namespace {

using namespace lazyrt;

constexpr char kAbout[] =
    "Turns a PyTorch model into a LazyRT bundle, and shows what is in one.\n"
    "\n"
    "  lazy-export MODEL.pt2 -o OUT.lzb     export what torch.export.save wrote\n"
    "  lazy-export MODEL.pt -o OUT.lzb --input x=1,3,224,224:f32\n"
    "                                       export TorchScript: torch.jit.trace or script, then "
    "save\n"
    "  lazy-export inspect OUT.lzb          interface, memory, operators, who runs them\n"
    "  lazy-export verify OUT.lzb           check every rule of the format and all checksums\n"
    "  lazy-export compare OUT.lzb MODEL    the first node whose value differs from eager's\n"
    "  lazy-export c-array OUT.lzb NAME     the same as source code: NAME.c, NAME.h\n"
    "  lazy-export explain CODE OUT.lzb     what a message of a library without texts says\n";

constexpr char kFooter[] =
    "The verdict: SOUND, right for every input of these shapes and dtypes; SPECIALIZED, right "
    "where\n"
    "  its guards hold, which the runtime checks, or with a warning; BROKEN, values of the sample "
    "are\n"
    "  baked in: no bundle is written; ALLOWED, one is, because --allow let those findings "
    "through.\n"
    "Exit codes: 0 done, SOUND, SPECIALIZED or ALLOWED; 1 wrong option, or name, shape or dtype of "
    "an "
    "input;\n"
    "  2 a model or bundle is damaged or of another kind; 3 a file is missing or cannot be read "
    "or\n"
    "  written; 4 the bundle does not give what the model gives; 5 the model uses what is not\n"
    "  supported: all of it is listed; 6 internal error; 7 BROKEN; 8 a bundle asks for more memory "
    "or\n"
    "  work than the limits allow; 128 and more: ended by a signal.\n"
    "Messages and progress go to stderr. With --json stdout is one JSON object, an {\"error\": "
    "...} if\n"
    "the command fails. After a failure there is no output file, or the one from before "
    "untouched.\n"
    "Write a .pt2 in Python: torch.export.save(torch.export.export(model.eval(), inputs), "
    "\"model.pt2\")";

void add_export_options(CLI::App* app, ExportArguments* a) {
  app->add_option("MODEL", a->model, "a .pt2 of torch.export.save or a .pt of torch.jit.save");
  app->add_option("-o,--output", a->output, "the bundle to write, a .lzb file");
  app->add_option(
         "--input", a->inputs,
         "trace with this input (a .pt2 has samples of its own): NAME=FILE.npy, or\n"
         "NAME=SHAPE:DTYPE for random data, e.g. x=1,3,224,224:f32, or NAME=3 for a Python\n"
         "number; in a tuple or list NAME.0, in a dict NAME.KEY; may be repeated")
      ->allow_extra_args(false);
  app->add_option(
         "--sample", a->samples,
         "trace once more with NAME=VALUE,NAME=VALUE in place of these of --input; may be\n"
         "repeated: traces that agree are merged, others become variants of one bundle; with\n"
         "--dynamic they bound names without bounds, and the bundle is compared on them")
      ->allow_extra_args(false);
  app->add_option(
         "--dynamic", a->dynamic,
         "let a dim of an input vary: INPUT.DIM=NAME:MIN..MAX, e.g. input_ids.1=seq:1..512, or\n"
         "x.2=height:160..288/32 for multiples of 32; dims of one NAME have one size, its bounds\n"
         "are given once, or are those of the samples; y.0=2*seq+1 follows from seq; may be\n"
         "repeated. The dims of a .pt2 with torch.export.Dim vary without it: there it names\n"
         "them, narrows them, and bounds those that have no upper bound")
      ->allow_extra_args(false);
  app->add_option("--allow", a->allow,
                  "let findings of this id through (baked-value), or the one at a line\n"
                  "(baked-value@model.py:31); may be repeated. In the source a comment on the\n"
                  "line or above it, '# lazyrt: allow baked-value', does the same")
      ->allow_extra_args(false);
  app->add_flag("!--no-second-trace", a->second_trace,
                "do not trace a second time, on perturbed inputs, to find baked values");
  app->add_flag("--static", a->use_sample_shape,
                "fix the dynamic dims of the .pt2 at the sizes of its sample")
      ->excludes("--dynamic");
  app->add_flag("--strip-samples", a->strip_samples,
                "leave sample inputs and outputs out of the bundle");
  app->add_option("--check", a->check,
                  "run the bundle beside the model: none; sample: several times on the samples;\n"
                  "full (the default): on altered inputs, too")
      ->check(CLI::IsMember({"none", "sample", "full"}));
  app->add_flag_callback(
      "--no-check", [a] { a->check = "none"; }, "the same as --check none");
  app->add_flag("--keep", a->keep, "keep a bundle that fails this check");
  app->add_option("--report", a->report, "also write a report as one HTML file");
  app->add_option(
      "--c-array", a->c_array,
      "also write NAME.c and NAME.h beside the bundle: an array to link into a program\n"
      "for a machine without files, and the bytes of memory that its methods take");
  app->add_flag("--dump-trace", a->dump_trace, "print the captured ATen graph on stderr");
  app->add_option(
         "--dump-after", a->dump_after,
         "print the graph on stderr after this pass, or 'import', or 'all'; may be repeated")
      ->allow_extra_args(false);
  app->add_flag("--quiet", a->quiet, "no summary and no progress");
  app->add_flag("--json", a->json, "the summary as JSON on stdout");
}

CLI::App* add_inspect(CLI::App* app, InspectArguments* a) {
  CLI::App* inspect = app->add_subcommand("inspect", "show what is in a bundle");
  inspect->add_option("BUNDLE", a->bundle, "a .lzb file")->required();
  inspect->add_flag("--nodes", a->nodes, "a line for each node");
  inspect->add_option("--report", a->report, "also write a report as one HTML file");
  inspect->add_flag("--json", a->json, "everything as JSON on stdout");
  return inspect;
}

CLI::App* add_verify(CLI::App* app, VerifyArguments* a) {
  CLI::App* verify = app->add_subcommand("verify", "check a bundle, its data included");
  verify->add_option("BUNDLE", a->bundle, "a .lzb file")->required();
  verify->add_option("--memory-limit", a->memory_limit,
                     "most bytes that arena and states of a method may ask for; 0: 4 GiB");
  verify->add_option("--work-limit", a->work_limit,
                     "most steps (about one multiply-add each) that a run may take; 0: 2^43");
  verify->add_option(
      "--node-work-limit", a->node_work_limit,
      "most steps of one node, and largest product of an empty tensor's other extents; 0: 2^40");
  verify->add_flag("--json", a->json, "the result as JSON on stdout");
  return verify;
}

CLI::App* add_compare(CLI::App* app, CompareArguments* a) {
  CLI::App* compare = app->add_subcommand(
      "compare",
      "run a bundle beside eager, value by value, and name the first node that differs.\n"
      "The model is captured again; nodes are matched by the source lines that the bundle records");
  compare->add_option("BUNDLE", a->bundle, "a .lzb file")->required();
  compare->add_option("MODEL", a->model, "the .pt2 or .pt that it was made of")->required();
  compare
      ->add_option("--input", a->inputs,
                   "as for an export; default: the sample in the .pt2, or in the bundle")
      ->allow_extra_args(false);
  compare->add_option("--backend", a->backend, "cpu, reference, vulkan or auto")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(BackendChoice::kNames),
                                                     std::end(BackendChoice::kNames))))
      ->capture_default_str();
  compare->add_option("--threads", a->threads, "threads of the bundle's run")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  compare
      ->add_option("--bound", a->relative,
                   "largest error of an element, relative to the largest of its value; without it\n"
                   "it follows from how far rounding moves eager's result")
      ->check(CLI::Range(0.0, 1.0));
  compare->add_flag("--quiet", a->quiet, "no table and no progress");
  compare->add_flag("--json", a->json, "the result as JSON on stdout");
  return compare;
}

CLI::App* add_c_array(CLI::App* app, CArrayArguments* a) {
  CLI::App* command =
      app->add_subcommand("c-array", "write a bundle as C source, with the memory that it takes");
  command->add_option("BUNDLE", a->bundle, "a .lzb file")->required();
  command->add_option("NAME", a->name, "of the array NAME_bundle, NAME.c and NAME.h")->required();
  command->add_option("-o,--output", a->folder, "the folder to write to (default: the bundle's)");
  command->add_flag("--json", a->json, "the result as JSON on stdout");
  return command;
}

CLI::App* add_explain(CLI::App* app, ExplainArguments* a) {
  CLI::App* command = app->add_subcommand(
      "explain",
      "print the text of an error code from a library built without texts, as lazy-run --explain");
  command->add_option("CODE", a->code, "the error code, such as 1a2b3c4d,7:12, where 12 is a node")
      ->required();
  command->add_option("BUNDLE", a->bundle, "the bundle that was run, to name the node")->required();
  command->add_flag("--json", a->json, "the text as JSON on stdout");
  return command;
}

/// CLI11 turns a missing option of the main command into an error only when no subcommand is there.
void require_export_arguments(const ExportArguments& a) {
  if (a.model.empty()) throw CLI::RequiredError("MODEL");
  if (a.output.empty()) throw CLI::RequiredError("-o OUT.lzb");
}

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--json") return true;
  }
  return false;
}

std::string joined_arguments(int argc, char** argv) {
  std::string text = "lazy-export";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "lazy-export");
  ExportArguments export_arguments;
  export_arguments.command_line = joined_arguments(argc, argv);
  InspectArguments inspect_arguments;
  VerifyArguments verify_arguments;
  CArrayArguments c_array_arguments;
  add_export_options(&app, &export_arguments);
  const CLI::App* inspect = add_inspect(&app, &inspect_arguments);
  const CLI::App* verify = add_verify(&app, &verify_arguments);
  CompareArguments compare_arguments;
  const CLI::App* compare = add_compare(&app, &compare_arguments);
  const CLI::App* c_array = add_c_array(&app, &c_array_arguments);
  ExplainArguments explain_arguments;
  const CLI::App* explain = add_explain(&app, &explain_arguments);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("lazy-export ") + LAZYRT_VERSION);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
    if (*inspect) return static_cast<int>(run_inspect(inspect_arguments));
    if (*verify) return static_cast<int>(run_verify(verify_arguments));
    if (*compare) return static_cast<int>(run_compare(compare_arguments));
    if (*c_array) return static_cast<int>(run_c_array(c_array_arguments));
    if (*explain) return static_cast<int>(run_explain(explain_arguments));
    require_export_arguments(export_arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const Failure failure{Error::kInvalidArgument, std::string(error.what()) + " (see --help)"};
    return static_cast<int>(fail(failure, wants_json(argc, argv)));
  }
  return static_cast<int>(run_export(export_arguments));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    const lazyrt::Failure failure{lazyrt::Error::kInternal, error.what()};
    return static_cast<int>(lazyrt::fail(failure, wants_json(argc, argv)));
  }
}
