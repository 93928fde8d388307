#include "platforms/posix/lazy_run/explain.h"

#include <cstdio>

#include "host_tracer/cli/commands.h"
#include "host_tracer/cli/console.h"
#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt {

Exit run_explain(const ExplainArguments& arguments) {
  try {
    const std::string text = run::explain(arguments.code, arguments.bundle, default_ops());
    if (arguments.json)
      print_json({{"code", arguments.code}, {"text", text.substr(0, text.size() - 1)}});
    else
      std::fputs(text.c_str(), stdout);
    return Exit::kDone;
  } catch (const run::Failure& failure) {
    const bool io = failure.code() == run::ExitCode::kIo;
    return fail({io ? Error::kIo : Error::kInvalidArgument, failure.what()}, arguments.json);
  }
}

}  // namespace lazyrt
