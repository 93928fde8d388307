// Operators without a form in our op table whose refusal can say more than "not supported yet".

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

constexpr const char* kComplex = "needs complex numbers, which the runtime lacks";
constexpr const char* kSolver = "is not supported: the runtime has no linear algebra solvers";
constexpr const char* kQuantized = "is not supported: export the float model";
constexpr const char* kSampler = "is not supported: sampling at computed positions";

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
    {"grid_sampler", nullptr, kSampler},
    {"grid_sampler_2d", nullptr, kSampler},
    {"grid_sampler_3d", nullptr, kSampler},
    {"linalg_solve_ex", nullptr, kSolver},
    {"_linalg_solve_ex", nullptr, kSolver},
    {"linalg_inv_ex", nullptr, kSolver},
    {"_linalg_svd", nullptr, kSolver},
    {"linalg_qr", nullptr, kSolver},
    {"_linalg_eigh", nullptr, kSolver},
    {"linalg_cholesky_ex", nullptr, kSolver},
    {"_linalg_det", nullptr, kSolver},
    {"quantize_per_tensor", nullptr, kQuantized},
    {"quantize_per_channel", nullptr, kQuantized},
    {"dequantize", nullptr, kQuantized},
};

}  // namespace

const RuleList refused_rules{kRefusedEntries};

}  // namespace lazyrt
