#include "host_tracer/record/lazy_backend.h"

#include <torch/csrc/lazy/backend/backend_interface.h>
#include <torch/csrc/lazy/core/config.h>
#include <torch/csrc/lazy/core/ir_builder.h>
#include <torch/csrc/lazy/core/lazy_graph_executor.h>
#include <torch/csrc/lazy/core/tensor.h>

#include <limits>
#include <memory>
#include <mutex>

#include "host_tracer/record/capture_kernel.h"
#include "host_tracer/record/capture_node.h"

namespace lazyrt {
namespace {

using torch::lazy::BackendData;
using torch::lazy::BackendDataPtr;
using torch::lazy::BackendDevice;
using torch::lazy::BackendDeviceType;
using torch::lazy::NodePtr;
using torch::lazy::Shape;
using torch::lazy::Value;

[[noreturn]] void refuse(const char* what) {
  TORCH_CHECK(false, "LazyRT's capture device does not ", what,
              "; lazy tensors live only inside a capture");
}

/// Bytes on the CPU behind a lazy tensor.
class HostData final : public BackendData {
 public:
  HostData(at::Tensor tensor, const Shape& shape, const BackendDevice& device)
      : BackendData(device, shape), tensor_(std::move(tensor)) {}

  const at::Tensor& tensor() const { return tensor_; }
  Handle GetHandle() override { return reinterpret_cast<Handle>(this); }
  void Assign(const BackendData& data) override {
    tensor_ = static_cast<const HostData&>(data).tensor_;
  }
  bool HasValue() const override { return tensor_.defined(); }

 private:
  at::Tensor tensor_;
};

NodePtr make_constant(at::Tensor tensor) {
  return std::make_shared<LeafNode>(LeafKind::kConstant, "", std::move(tensor));
}

/// The lazy core asks it only for leaves: the capture kernel makes every other node.
struct CaptureIrBuilder final : torch::lazy::IrBuilder {
  NodePtr MakeDeviceData(const BackendDataPtr& data) const override {
    return make_constant(static_cast<const HostData&>(*data).tensor());
  }
  NodePtr MakeScalar(const at::Scalar& value, const at::ScalarType& type) const override {
    return make_constant(at::scalar_tensor(value, at::TensorOptions().dtype(type)));
  }
  NodePtr MakeExpand(const Value&, const std::vector<int64_t>&, const bool&) const override {
    refuse("expand values");
  }
  NodePtr MakeCast(const Value&, const at::ScalarType&,
                   const std::optional<at::ScalarType>&) const override {
    refuse("cast values");
  }
  NodePtr MakeTensorList(const torch::lazy::OpList&) const override { refuse("make lists"); }
  NodePtr MakeGeneric(const torch::lazy::OpKind&, const torch::lazy::OpList&, const Shape&,
                      const size_t&, const torch::lazy::hash_t&) const override {
    refuse("make generic nodes");
  }
  NodePtr MakeSizeNode(const Value&, size_t) const override { refuse("support dynamic sizes"); }
  NodePtr MakeSizeAdd(const Value&, const Value&) const override {
    refuse("support dynamic sizes");
  }
  NodePtr MakeSizeMul(const Value&, const Value&) const override {
    refuse("support dynamic sizes");
  }
  NodePtr MakeSizeDiv(const Value&, const Value&) const override {
    refuse("support dynamic sizes");
  }
};

class CaptureBackend final : public torch::lazy::BackendImplInterface {
 public:
  void PrepareToExit() const override {}
  void SetRngSeed(size_t) const override {}
  const torch::lazy::IrBuilder* GetIrBuilder() const override { return &builder_; }

  BackendDataPtr MakeComputationDataFromTensor(const at::Tensor& tensor, const Shape& shape,
                                               const BackendDevice& device) const override {
    return std::make_shared<HostData>(tensor, shape, device);
  }
  BackendDataPtr MakeComputationDataFromScalar(const at::Scalar& scalar,
                                               const BackendDevice& device) const override {
    at::Tensor t = at::scalar_tensor(scalar, at::TensorOptions().dtype(scalar.type()));
    return std::make_shared<HostData>(t, Shape(t.scalar_type(), t.sizes()), device);
  }
  BackendDataPtr CreateDataPlaceholder(const BackendDevice& device,
                                       const Shape& shape) const override {
    return std::make_shared<HostData>(at::Tensor(), shape, device);
  }
  BackendDataPtr GetComputationDataFromNode(const torch::lazy::Node* node) const override {
    const LeafNode* leaf = as_leaf(node);
    if (!leaf) return nullptr;
    return std::make_shared<HostData>(leaf->data(), leaf->shape(0), BackendDevice());
  }
  at::Tensor MakeTensorFromComputationData(const BackendDataPtr data,
                                           std::optional<at::ScalarType> type) const override {
    const at::Tensor& t = static_cast<const HostData&>(*data).tensor();
    return type && *type != t.scalar_type() ? t.to(*type) : t;
  }

  std::unique_ptr<torch::lazy::LoweringContext> CreateLoweringContext(
      const std::string&, BackendDevice, c10::ArrayRef<const torch::lazy::Node*>,
      torch::lazy::Util::EmissionMap) const override {
    refuse("compile");
  }
  std::unique_ptr<torch::lazy::LoweringContext> CreateLoweringContext(
      const std::string&, BackendDevice) const override {
    refuse("compile");
  }
  std::vector<std::string> GetCompilationDevices(const std::string& device,
                                                 c10::ArrayRef<std::string>) const override {
    return {device};
  }
  std::vector<torch::lazy::ComputationPtr> Compile(
      std::vector<torch::lazy::ComputationPtr>) const override {
    refuse("compile");
  }
  std::vector<BackendDataPtr> ExecuteComputation(torch::lazy::ComputationPtr,
                                                 c10::ArrayRef<BackendDataPtr>,
                                                 const BackendDevice&) const override {
    refuse("execute");
  }

  std::shared_ptr<BackendDeviceType> GetDefaultDeviceType() const override {
    return std::make_shared<BackendDeviceType>(static_cast<int8_t>(at::kCPU));
  }
  void SetDefaultDeviceType(int8_t) override {}
  int64_t GetDefaultDeviceOrdinal() const override { return 0; }
  void SetDefaultDeviceOrdinal(int64_t) override {}
  at::DeviceType EagerFallbackDeviceType() const override { return at::kCPU; }
  std::vector<BackendDevice> GetBackendDevices() const override {
    return {GetBackendDevice(c10::Device(c10::kLazy, 0))};
  }
  BackendDevice GetBackendDevice(c10::Device device) const override {
    return BackendDevice(GetDefaultDeviceType(), device.has_index() ? device.index() : 0);
  }
  std::string GetComputationBackendText(const torch::lazy::ComputationPtr) const override {
    return "";
  }

 private:
  CaptureIrBuilder builder_;
};

std::string install() {
  if (torch::lazy::hasBackend()) {
    return "another backend of torch.lazy is initialised in this process (the TorchScript one?); "
           "export from a process where it is not";
  }
  // Never destroyed: the dispatcher and the lazy core keep pointers to them until the process ends.
  static const auto* backend = new CaptureBackend();
  static const torch::lazy::BackendRegistrar registrar(backend);
  torch::lazy::LazyGraphExecutor::Register(new torch::lazy::LazyGraphExecutor());
  register_capture_kernels();
  return "";
}

}  // namespace

std::string install_lazy_backend() {
  static const std::string error = install();
  return error;
}

TrimGraphOff::TrimGraphOff()
    : frequency_(FLAGS_torch_lazy_trim_graph_check_frequency),
      size_(FLAGS_torch_lazy_trim_graph_size) {
  FLAGS_torch_lazy_trim_graph_check_frequency = std::numeric_limits<int32_t>::max();
  FLAGS_torch_lazy_trim_graph_size = std::numeric_limits<int32_t>::max();
}

TrimGraphOff::~TrimGraphOff() {
  FLAGS_torch_lazy_trim_graph_check_frequency =
      static_cast<decltype(FLAGS_torch_lazy_trim_graph_check_frequency)>(frequency_);
  FLAGS_torch_lazy_trim_graph_size = static_cast<decltype(FLAGS_torch_lazy_trim_graph_size)>(size_);
}

at::Tensor make_lazy(const Value& value) {
  static const BackendDevice device;
  return torch::lazy::CreateAtenFromLtcTensor(torch::lazy::LazyTensor::Create(value, device));
}

Value value_of(const at::Tensor& lazy) { return torch::lazy::GetLtcTensor(lazy)->GetIrValue(); }

bool is_lazy(const at::Tensor& t) { return t.defined() && t.device().is_lazy(); }

}  // namespace lazyrt
