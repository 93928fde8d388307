// Operators without a form in our op table for which the refusal can say more than "not supported
// yet".

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

constexpr const char* kComplex = "needs complex numbers, which the runtime lacks";
constexpr const char* kSolver =
    "is not supported: of linear algebra the runtime has triangular solves, LU and Cholesky";
constexpr const char* kQuantized = "is not supported: export the float model";

constexpr RuleEntry kRefusedEntries[] = {
    {"complex", nullptr, kComplex},
    {"polar", nullptr, kComplex},
    {"imag", nullptr, kComplex},
    {"angle", nullptr, kComplex},
    {"_fft_r2c", nullptr, kComplex},
    {"_fft_c2r", nullptr, kComplex},
    {"_fft_c2c", nullptr, kComplex},
    {"stft", nullptr, kComplex},
    {"istft", nullptr, kComplex},
    {"_linalg_svd", nullptr, kSolver},
    {"linalg_eig", nullptr, kSolver},
    {"linalg_lstsq", nullptr, kSolver},
    {"linalg_qr", nullptr, kSolver},
    {"_linalg_eigh", nullptr, kSolver},
    {"quantize_per_tensor", nullptr, kQuantized},
    {"quantize_per_channel", nullptr, kQuantized},
    {"dequantize", nullptr, kQuantized},
};

}  // namespace

const RuleList refused_rules{kRefusedEntries};

}  // namespace lazyrt
