// A variant replaces its method for some inputs.

#include "runtime/bundle/method_check.h"

namespace lazyrt {

Fault check_variant(const OpTable&, const fb::Method& method, const fb::Method& variant) {
  return check_same_interface(method, variant);
}

}  // namespace lazyrt
