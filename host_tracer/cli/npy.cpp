#include "host_tracer/cli/npy.h"

#include <filesystem>

#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/npy.h"

namespace lazyrt {

Outcome<SampleTensor> read_npy(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Failure{Error::kNotFound, "no file " + path};
  if (!std::filesystem::is_regular_file(path, error)) {
    return Failure{Error::kIo, path + " is not a regular file"};
  }
  try {
    auto read = std::make_shared<const run::HostTensor>(run::read_npy(path));
    SampleTensor tensor;
    tensor.dtype = read->dtype;
    tensor.shape.assign(read->shape.begin(), read->shape.end());
    tensor.data = {read, read->bytes.data(), read->bytes.size()};
    return tensor;
  } catch (const run::Failure& failure) {
    const bool io = failure.code() == run::ExitCode::kIo;
    return Failure{io ? Error::kIo : Error::kInvalidArgument, failure.what()};
  }
}

}  // namespace lazyrt
