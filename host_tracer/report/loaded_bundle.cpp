#include "host_tracer/report/loaded_bundle.h"

namespace lazyrt {

Outcome<std::unique_ptr<LoadedBundle>> LoadedBundle::open(const std::string& path) {
  std::unique_ptr<LoadedBundle> loaded(new LoadedBundle(path));
  const Status status = loaded->load();
  if (!status.ok()) return failure_of(path, status);
  return loaded;
}

Status LoadedBundle::load() {
  LAZYRT_RETURN_IF_ERROR(platform_map_file(path_.c_str(), &mapping_.file));
  Result<Program> program = Program::load(bytes(), default_ops());
  if (!program.ok()) return program.status();
  program_ = std::move(*program);
  return read_sections(bytes(), /*check_data=*/false, &sections_);
}

Failure failure_of(const std::string& path, const Status& status) {
  const std::string text = status.message();
  const bool named = text.find(path) != std::string::npos;
  return {status.error(), named ? text : path + ": " + text};
}

}  // namespace lazyrt
