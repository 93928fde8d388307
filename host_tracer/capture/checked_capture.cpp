#include "host_tracer/capture/checked_capture.h"

namespace lazyrt {

Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions&) {
  return capture(request, program);
}

}  // namespace lazyrt
