"""Explains errors that torch, NumPy and Python raise because of a capture, without mentioning it."""

import gc
import os
import traceback
import weakref

import torch

from lazyrt.state.code_names import is_file_of_library


def names_tensor(error):
    """Whether a tensor, or a reference to one, is the key that was not found."""
    key = error.args[0] if error.args else None
    inner = [key, key() if isinstance(key, weakref.ref) else None, *gc.get_referents(key)]
    return any(isinstance(each, torch.Tensor) for each in inner)


def writes_in_script(error):
    """Whether it is TorchScript's error for a lazy value that is written into a CPU tensor."""
    text = str(error)
    return "TorchScript interpreter" in text and "INTERNAL ASSERT" in text and "unctionali" in text


# Parts of such messages, about memory that a lazy tensor does not have, and what each means.
_UNCLEAR = {"on an invalid python storage": "the program asks for what lies in the memory of a tensor (untyped_storage), or for its address, which it does not have while it is "
                                            "captured: use the tensor's own values",
            "not 'LazyArray'": "the program reads the memory of an array of NumPy (memoryview, bytes, frombuffer), which a captured one does not have: use the array's own "
                               "values, or np.array(x) where these may be fixed by guards",
            "does not implement Python buffer protocol": "the program reads the memory of an array of NumPy (frombuffer), which a captured one does not have: use torch.from_numpy",
            "mutating a non-functional tensor": "the program writes values that are computed into a tensor made on the CPU, in a way that the capture does not see (z.real = x of a "
                                                "complex tensor, an extension): make another tensor, torch.complex(a, b)",
            "SparseLazy": "the program makes a sparse tensor of computed values, or uses a sparse one together with them in another way than matrix @ dense, which a graph does not "
                      "have: .to_dense() it, or index_add and index_select",
            "aten::set": "the program makes a tensor of the memory of another one (storage, untyped_storage, set_), which it does not have while it is captured: use the "
                         "tensor's own values"}


def said_of(error):
    """The error's text, explained where it is known, with the program's line."""
    text = str(error)
    said = next((f"{meant} ({text})" for mark, meant in _UNCLEAR.items() if mark in text.replace("SparseCsrLazy", "SparseLazy")), text)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_file_of_library(frame.filename)]
    if not frames or f":{frames[-1].lineno}" in text:
        return said
    return f"{said} (at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno})"


def statement_of(error):
    """The lines of TorchScript's traceback that name the statement."""
    lines = str(error).splitlines()
    end = next((i for i, line in enumerate(lines) if "HERE" in line), 0)
    return "\n".join(lines[max(end - 3, 0):end])
