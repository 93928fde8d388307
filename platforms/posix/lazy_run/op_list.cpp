#include "platforms/posix/lazy_run/op_list.h"

#include <map>

#include "lazyrt/dtype.h"
#include "lazyrt/op_uses.h"
#include "platforms/posix/lazy_run/failure.h"
#include "runtime/platform/platform.h"

namespace lazyrt::run {
namespace {

using TypesByName = std::map<std::string, uint32_t>;

class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const Status status = platform_map_file(path.c_str(), &file_);
    if (!status.ok()) throw Failure(ExitCode::kIo, status.message());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { platform_unmap_file(file_); }

  Span<const uint8_t> bytes() const { return {file_.data, file_.bytes}; }

 private:
  MappedFile file_;
};

void add_use(void* context, const OpUse& use) {
  const std::string function = use.function[0] == '\0' ? "" : std::string(".") + use.function;
  (*static_cast<TypesByName*>(context))[use.op + function] |= use.types;
}

}  // namespace

std::string op_list(const std::string& bundle, const OpTable& ops) {
  const Mapping mapping(bundle);
  TypesByName uses;
  require(list_op_uses(mapping.bytes(), ops, add_use, &uses), bundle);
  std::string out;
  for (const auto& [name, types] : uses) {
    out += name;
    for (int type = 1; type < kDTypeCount; ++type) {
      if ((types >> type & 1) != 0) out += std::string(" ") + dtype_name(static_cast<DType>(type));
    }
    out += "\n";
  }
  return out;
}

}  // namespace lazyrt::run
