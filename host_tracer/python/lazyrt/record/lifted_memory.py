"""CPU memory into which lazy values were written: from then on it is a tensor of the graph."""

import torch

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.record.tensors import is_lazy


class LiftedMemory:
    """`lifted`: storage address -> (CPU tensor, its lifted form)."""

    def __init__(self):
        self.lifted = {}

    def lift(self, tensor):
        """The tensor's whole memory."""
        base = tensor if tensor._base is None else tensor._base
        storage = base.untyped_storage()
        address = storage.data_ptr()
        if address in self.lifted:
            return
        if not storage.resizable():
            raise Error("the model writes computed values into memory that NumPy, bytes or another library may read and write as well (numpy(), from_numpy, frombuffer, "
                        "DLPack), which LazyRT does not see: write into a clone() of the tensor", "unsupported")
        self._refuse_overlap(storage)
        if not base.is_contiguous():  # its views know the memory's own order
            base = base.detach().as_strided((storage.nbytes() // base.element_size(),), (1,), 0)
        self.lifted[address] = (base, _tracer.lift(base.detach()))

    def current(self, tensor):
        """The lifted form of a CPU tensor whose storage was lifted; else the tensor."""
        if not self.lifted or is_lazy(tensor) or tensor.layout != torch.strided or tensor.numel() == 0:
            return tensor
        storage = tensor.untyped_storage()
        known = self.lifted.get(storage.data_ptr())
        if known is None:
            self._refuse_overlap(storage)
            return tensor
        base, lifted = known
        if tensor.dtype != base.dtype:
            raise Error(f"the model writes computed values into memory that it has both as {base.dtype} and as {tensor.dtype}: convert values, or "
                        f"write into a clone()",
                        "unsupported")
        same = tensor.shape == base.shape and tensor.stride() == base.stride()
        if same and tensor.storage_offset() == base.storage_offset():
            return lifted
        return lifted.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset() - base.storage_offset())

    def _refuse_overlap(self, storage):
        """Lifted memory is found by its first address: a part of it that begins elsewhere would be missed."""
        begin, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        for address, (base, _) in self.lifted.items():
            if begin < address + base.untyped_storage().nbytes() and address < end and begin != address:
                raise Error("the model writes computed values into memory, and a part of this memory is a separate tensor (by NumPy or DLPack): "
                            "make that part a view, whole[4:]",
                            "unsupported")
