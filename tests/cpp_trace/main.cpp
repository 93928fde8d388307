// An nn::Module written in C++ is traced, exported, run by the runtime and compared with eager.
//
//   cpp_trace_example OUT.lzb

#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "host_tracer/cpp/export_module.h"
#include "lazyrt/runtime.h"

namespace {

using torch::Tensor;

/// A convolutional stem and residual blocks that share one normalisation.
struct NetImpl : torch::nn::Module {
  NetImpl()
      : stem(register_module("stem",
                             torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).stride(2)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(8))),
        blocks(register_module("blocks", torch::nn::ModuleList())),
        head(register_module("head", torch::nn::Linear(8, 10))) {
    for (int i = 0; i < 3; ++i) {
      blocks->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 8, 3).padding(1)));
    }
  }

  std::tuple<Tensor, std::vector<Tensor>> forward(const Tensor& image) {
    const lazyrt::SourceScope here(lazyrt::source_here());
    Tensor x = torch::relu(norm(stem(image)));
    std::vector<Tensor> features;
    for (const auto& block : *blocks) {
      x = x + torch::relu(norm(block->as<torch::nn::Conv2d>()->forward(x)));
      features.push_back(x.mean({2, 3}));
    }
    return {torch::log_softmax(head(features.back()), 1), features};
  }

  torch::nn::Conv2d stem;
  torch::nn::BatchNorm2d norm;
  torch::nn::ModuleList blocks;
  torch::nn::Linear head;
};
TORCH_MODULE(Net);

int fail(const std::string& what) {
  std::fprintf(stderr, "cpp_trace_example: %s\n", what.c_str());
  return 1;
}

double largest_error(const lazyrt::TensorView& ours, const Tensor& eager) {
  double worst = 0;
  const Tensor want = eager.contiguous();
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double d = std::fabs(ours.as<float>()[i] - want.const_data_ptr<float>()[i]);
    worst = std::isnan(d) ? INFINITY : std::fmax(worst, d);
  }
  return worst;
}

/// Runs the bundle on `image`; the number of outputs that differ from `eager`, or -1.
int compare(const char* path, const Tensor& image, const std::vector<Tensor>& eager) {
  auto program = lazyrt::Program::open(path, lazyrt::default_ops());
  if (!program.ok()) return -fail(program.status().message());
  lazyrt::SessionOptions options;
  options.backend = lazyrt::cpu_backend();
  const lazyrt::Method method = program->method(size_t{0});
  auto session = lazyrt::Session::create(method, options);
  if (!session.ok()) return -fail(session.status().message());
  const lazyrt::Status set = session->set_input(0, image.const_data_ptr(), image.nbytes());
  if (!set.ok()) return -fail(set.message());
  const lazyrt::Status ran = session->run();
  if (!ran.ok()) return -fail(ran.message());
  if (method.output_count() != eager.size()) return -fail("another number of outputs");
  int wrong = 0;
  for (size_t i = 0; i < eager.size(); ++i) {
    auto ours = session->output(i);
    if (!ours.ok()) return -fail(ours.status().message());
    const double error = largest_error(*ours, eager[i]);
    std::printf("%-8s largest error %.1e\n", method.output(i).name, error);
    wrong += error <= 1e-4 ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage: cpp_trace_example OUT.lzb");
  torch::manual_seed(1);
  Net net;
  net->eval();
  const Tensor image = torch::randn({1, 3, 32, 32});
  lazyrt::ModuleExportOptions options;
  options.trace.input_names = {"image"};
  const auto report = lazyrt::export_module(net, {image}, argv[1], options);
  if (!report.ok()) return fail(report.failure().text);
  std::printf("%zu nodes, arena %llu bytes; %zu calls like the module's\n",
              report->exported.nodes.size(),
              static_cast<unsigned long long>(report->exported.arena_bytes), report->checked.calls);

  // Another image than the one it was traced with.
  const Tensor other = torch::randn({1, 3, 32, 32});
  const torch::NoGradGuard no_grad;
  const auto [logits, features] = net->forward(other);
  std::vector<Tensor> eager = {logits};
  eager.insert(eager.end(), features.begin(), features.end());
  const int wrong = compare(argv[1], other, eager);
  return wrong == 0 ? 0 : fail("the bundle does not give eager's numbers");
}
