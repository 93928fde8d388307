#include "platforms/posix/lazy_run/op_list.h"

#include <map>

#include "lazyrt/dtype.h"
#include "lazyrt/op_uses.h"
#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/mapping.h"

namespace lazyrt::run {
namespace {

using TypesByName = std::map<std::string, uint32_t>;

void add_use(void* context, const OpUse& use) {
  if (use.custom) return;
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
  PartUses parts;
  require(list_part_uses(mapping.bytes(), &parts), bundle);
  if (parts.guards) out += "part.guards\n";
  if (parts.states) out += "part.states\n";
  if (parts.variants) out += "part.variants\n";
  return out;
}

}  // namespace lazyrt::run
