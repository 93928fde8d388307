"""Complex numbers inside a program: pairs of reals in the bundle. Fourier transforms of fixed sizes."""

import pytest
import torch
from torch import nn

import lazyrt


@pytest.fixture
def same(bundle, close):
    """same(model, make): exports at make(), then compares with eager at make() and two other inputs."""

    def run(model, make, verdict="SOUND"):
        torch.manual_seed(0)
        report = lazyrt.export(model, make(), bundle)
        assert report.verdict == verdict, report
        program = lazyrt.load(bundle)
        for _ in range(3):
            args = make()
            with torch.no_grad():
                eager = model(*[a.clone() for a in args])
            ours = program(*args)
            for got, expected in zip(ours, eager) if isinstance(eager, (tuple, list)) else [(ours, eager)]:
                assert tuple(got.shape) == tuple(expected.shape)
                close(got, expected)

    return run


def real(z):
    return torch.view_as_real(z.resolve_conj())


def plane(x):
    """[3, 4] reals as [3, 2] complex numbers."""
    return torch.view_as_complex(x.reshape(3, 2, 2))


POLAR = torch.polar(torch.ones(3, 2), torch.arange(6.0).reshape(3, 2))

ELEMENTS = {
    "parts": lambda z: (z.real * 2, z.imag, z.real + z.imag),
    "abs_angle": lambda z: (z.abs(), z.angle(), torch.angle(z.real)),
    "polar": lambda z: real(torch.polar(z.abs(), z.angle() * 2)),
    "conj": lambda z: (real(z.conj().resolve_conj()), real(z * z.conj()), (z.conj() * POLAR).imag),
    "mul_div": lambda z: (real(z * POLAR), real(z / (POLAR + 2)), real(z / 3), real(2 / (z + 3)), real(z.reciprocal())),
    "numbers": lambda z: (real(z * 2j), real(z + (1 - 2j)), real(1j - z), real(z * 3), real(-z), real(z - 1), real(torch.sub(z, z, alpha=3))),
    "mixed": lambda z: (real(z * z.real), real(z.real + 1j * z.imag.sin()), real(z + torch.arange(2)), real(z * (z.real > 0))),
    "exp_log": lambda z: (real(z.exp()), real((z + 3).log()), real(z.exp().log())),
    "roots": lambda z: (real(z.sqrt()), real(z ** 2), real(z ** 3), real((z + 2) ** -1), real((z + 2) ** 0.5), real((z + 2) ** (1 + 1j)), real(z.square())),
    "waves": lambda z: (real(z.sin()), real(z.cos()), real(z.tanh()), real(z.sinh()), real(z.cosh()), real(z.sigmoid())),
    "sign": lambda z: (real(z.sgn()), real(torch.zeros_like(z).sgn() + z)),
    "compare": lambda z: (z == z.conj(), z != z, torch.isfinite(z), torch.isnan(z / 0), torch.isinf(z)),
    "sums": lambda z: (real(z.sum()), real(z.mean(0)), real(z.cumsum(1)), z.norm(), torch.linalg.vector_norm(z, dim=1)),
    "products": lambda z: (real(z @ z.mH), real(torch.einsum("ij,kj->ik", z, POLAR)), real(torch.vdot(z[0], z[1])), real(torch.matmul(z, z[0])), real(torch.outer(z[0], z[1]))),
    "shapes": lambda z: (real(z.t()), real(z[1:, 0]), real(z.reshape(-1)), real(z.flip(0)), real(torch.cat([z, POLAR])), real(torch.stack([z, z.conj()])), real(z.unsqueeze(0).expand(2, 3, 2))),
    "picks": lambda z: (real(z[[0, 2]]), real(z.gather(0, torch.tensor([[0, 2]]))), real(z.index_select(1, torch.tensor([1, 0, 1]))), real(z[z.real.argmax(0)])),
    "choices": lambda z: (real(torch.where(z.abs() > 1, z, POLAR)), real(z.masked_fill(z.real > 0, 0)), real(torch.where(z.real > 0, z, z.new_zeros(()))), real(z.masked_fill(z.real > 0, 1 + 2j))),
    "made": lambda z: (real(torch.full_like(z, 1 + 2j) * z), real(torch.ones_like(z) + z), real(torch.zeros(3, 2, dtype=torch.complex64) + z.real), real(torch.complex(z.imag, z.real[:1]))),
    "casts": lambda z: (real(z.real.to(torch.complex64)), real(z.to(torch.complex128)), real(torch.arange(3).to(torch.cfloat)[:, None] * z)),
    "types": lambda z: (z.view(torch.float32) * 2, real((z.view(torch.float32) + 1).view(torch.complex64)), torch.tensor([z.is_complex(), torch.is_complex(z.real)])),
    "repeated": lambda z: (real(z.repeat(2, 1)), real(torch.roll(z, 1, 0)), real(nn.functional.pad(z, (1, 1))), real(z.tril()), real(torch.diag_embed(z[0]))),
    "linear": lambda z: real(nn.functional.linear(z, POLAR.conj(), POLAR[:, 0])),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name, same):
    same(lambda x: ELEMENTS[name](plane(x)), lambda: (torch.randn(3, 4),))


def written_real(x):
    z = plane(x).clone()
    z.real[0] = 7
    z.imag += x[:, :2]
    return real(z)


def written_rows(x):
    z = torch.zeros(3, 2, dtype=torch.complex64)
    z[1] = plane(x)[0] * 1j
    z[:, 1] += plane(x)[:, 0]
    z.mul_(2j).add_(1)
    return real(z)


def written_pairs(x):
    z = plane(x).clone()
    pairs = torch.view_as_real(z)
    pairs[..., 0] = 5
    return real(z), z.abs()


def real_written_with_complex(x):
    y = x[:, :2].clone()
    y.copy_(plane(x))
    return y


def in_a_loop(x):
    z = torch.zeros((), dtype=torch.complex64)
    for row in plane(x):
        z = z * row[0] + row[1]
    return real(z)


def rotary(x):
    frequencies = torch.polar(torch.ones(3, 2), torch.outer(torch.arange(3.0), torch.tensor([1.0, 0.1])))
    return torch.view_as_real(plane(x) * frequencies).flatten(-2)


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("program", [written_real, written_rows, written_pairs, real_written_with_complex, in_a_loop, rotary], ids=lambda f: f.__name__)
def test_programs(program, same):
    same(program, lambda: (torch.randn(3, 4),))


TRANSFORMS = {
    "fft": lambda x: real(torch.fft.fft(x)),
    "fft_dims": lambda x: real(torch.fft.fft(x, dim=1)),
    "fft_longer": lambda x: real(torch.fft.fft(x, n=17)),
    "fft_shorter": lambda x: real(torch.fft.fft(x, n=5, norm="ortho")),
    "fft_forward": lambda x: real(torch.fft.fft(x, norm="forward")),
    "ifft": lambda x: real(torch.fft.ifft(torch.fft.fft(x) * 1j)),
    "ifft_ortho": lambda x: real(torch.fft.ifft(torch.complex(x, x.flip(0)), norm="ortho")),
    "rfft": lambda x: real(torch.fft.rfft(x)),
    "rfft_odd": lambda x: real(torch.fft.rfft(x, n=9, dim=1, norm="forward")),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=x.shape[-1]),
    "irfft_odd": lambda x: torch.fft.irfft(torch.complex(x, x + 1), n=19),
    "irfft_default": lambda x: torch.fft.irfft(torch.complex(x, x + 1), dim=1, norm="ortho"),
    "fft2": lambda x: real(torch.fft.fft2(x)),
    "ifft2": lambda x: real(torch.fft.ifft2(torch.complex(x, -x))),
    "rfft2": lambda x: real(torch.fft.rfft2(x, norm="ortho")),
    "irfft2": lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 1.5, s=x.shape[-2:]),
    "fftn": lambda x: real(torch.fft.fftn(x, dim=(0, 2))),
    "ifftn": lambda x: real(torch.fft.ifftn(torch.complex(x, x), norm="forward")),
    "rfftn": lambda x: real(torch.fft.rfftn(x)),
    "irfftn": lambda x: torch.fft.irfftn(torch.fft.rfftn(x), s=x.shape),
    "hfft": lambda x: torch.fft.hfft(torch.complex(x, x * 2), n=20),
    "ihfft": lambda x: real(torch.fft.ihfft(x)),
    "shift": lambda x: real(torch.fft.fftshift(torch.fft.fft(x), dim=-1)) + torch.fft.fftfreq(12)[:, None],
    "spectrum": lambda x: torch.fft.rfft(x).abs().pow(2).log1p(),
    "fnet": lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real,
    "filter": lambda x: torch.fft.irfft(torch.fft.rfft(x, n=24) * torch.fft.rfft(torch.hann_window(12), n=24), n=24),
    "double": lambda x: real(torch.fft.rfft(x.double())),
}


INF, NAN = float("inf"), float("nan")
SPOTS = [0, complex(0, -0.0), 1 + 1j, 2 - 1j]

ENDS = {
    "inverse": (SPOTS, lambda z: (real(z.reciprocal()), real(1 / z), real(2 / z), real(z**-1), real(z**-2))),
    "divide": (SPOTS, lambda z: (real((1 + 1j) / z), real(z / z), real(z.real / z), real(z / (z - 1 - 1j)))),
    "divide_far": ([complex(INF, 1), 1e38 + 1e38j, complex(1, -INF), 1e-30j], lambda z: (real(POLAR[0, 0] / z), real(POLAR[2, 1] / z))),
    "powers": (SPOTS, lambda z: (real(z**-0.5), real(z**0.5), real(z**0), real(z**-1.5), real(z**1.5), real(z ** (1 + 1j)), real(z ** (1j - 1)))),
    "tensor_powers": (SPOTS, lambda z: tuple(real(z ** torch.tensor(n)) for n in (-1.0, 2.0, 0.0, -0.5, 1j, 1 - 1j))),
    "powers_of_numbers": (SPOTS, lambda z: (real(2.0**z), real(0.0 ** (z - 1)))),
    "exp": ([100, complex(100, -0.0), complex(INF, 0), complex(-INF, 1), -200 + 3j, complex(NAN, 0)], lambda z: real(z.exp())),
    "sinh_cosh": ([100, -100, 200j, complex(NAN, 0), complex(-2, 0)], lambda z: (real(z.sinh()), real(z.cosh()))),
    "sin_cos": ([100, -100, 200j, -200j, complex(-2, 0)], lambda z: (real(z.sin()), real(z.cos()))),
    "sigmoid": ([-100, 100, complex(-300, -0.0), 1j], lambda z: (real(z.sigmoid()), real(z.tanh()))),
    "sqrt": ([3e38 + 1j, -3e38 + 1j, 1e-40, complex(-4, -0.0), complex(INF, 1), complex(-INF, -1), 0], lambda z: (real(z.sqrt()), real(z**0.5))),
    "sign": ([0, complex(-0.0, 0), 1e-30 + 1e-30j, 1e30], lambda z: (real(z.sgn()), real(z.log()))),
}


@pytest.mark.parametrize("name", ENDS)
def test_at_zero_and_the_ends_of_the_type(name, bundle):
    """Infinities and NaN are in the same halves as eager's."""
    spots, model = ENDS[name]
    program = lambda pairs: model(torch.view_as_complex(pairs))
    lazyrt.export(program, (torch.rand(len(spots), 2) + 0.5,), bundle)
    pairs = torch.view_as_real(torch.tensor(spots, dtype=torch.complex64))
    ours, eager = lazyrt.load(bundle)(pairs), program(pairs)
    for got, expected in zip(ours, eager) if isinstance(eager, tuple) else [(ours, eager)]:
        torch.testing.assert_close(torch.as_tensor(got), expected, rtol=1e-5, atol=1e-37, equal_nan=True)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, same):
    same(TRANSFORMS[name], lambda: (torch.randn(2, 5, 12),))


@pytest.mark.parametrize("n", [1, 2, 3, 160, 161, 251, 256, 360, 400, 512, 1000])
def test_sizes(n, same):
    """Prime, whole and split transforms, there and back."""
    def there_and_back(x):
        x = x / n ** 0.5
        half = torch.fft.rfft(x)
        return real(half), torch.fft.irfft(half * (1 + 0.5j), n=n), real(torch.fft.fft(torch.complex(x, -x))), real(torch.fft.ifft(x))

    same(there_and_back, lambda: (torch.randn(2, n),))


STFT = {
    "onesided": dict(n_fft=16, hop_length=4, window=torch.hann_window(16), return_complex=True),
    "centred": dict(n_fft=20, hop_length=5, win_length=12, window=torch.hamming_window(12), center=True, pad_mode="reflect", return_complex=True),
    "two_sided": dict(n_fft=16, hop_length=8, window=torch.ones(16), center=False, onesided=False, return_complex=True),
    "normalized": dict(n_fft=16, window=torch.hann_window(16), normalized=True, return_complex=True),
}


@pytest.mark.parametrize("name", STFT)
def test_stft(name, same):
    same(lambda x: real(torch.stft(x, **STFT[name])), lambda: (torch.randn(2, 80),))


def test_istft(same):
    window = torch.hann_window(16)

    def louder(x):
        z = torch.stft(x, 16, 4, window=window, return_complex=True)
        return torch.istft(z * 2, 16, 4, window=window, length=80)

    same(louder, lambda: (torch.randn(2, 80),))


class Spectral(nn.Module):
    """A Fourier neural operator's layer: complex weights and a complex buffer that counts on."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4, 5, dtype=torch.cfloat))
        self.register_buffer("phase", torch.polar(torch.ones(5), torch.arange(5.0)))
        self.register_buffer("seen", torch.zeros(5, dtype=torch.cfloat))

    def forward(self, x):
        modes = torch.fft.rfft(x)[..., :5] * self.phase
        self.seen += modes.mean((0, 1))
        out = torch.zeros(x.shape[0], 4, x.shape[-1] // 2 + 1, dtype=torch.cfloat)
        out[..., :5] = torch.einsum("bix,iox->box", modes, self.weight)
        return torch.fft.irfft(out, n=x.shape[-1]), self.seen.abs()


def test_complex_parameters_and_state(bundle, close):
    torch.manual_seed(0)
    model = Spectral().eval()
    report = lazyrt.export(model, (torch.randn(2, 3, 16),), bundle)
    assert report.verdict == "SOUND", report
    assert not model.seen.any()
    program = lazyrt.load(bundle)
    for _ in range(3):
        x = torch.randn(2, 3, 16)
        with torch.no_grad():
            for got, expected in zip(program(x), model(x)):
                close(got, expected)


def test_a_loop_that_asks_for_the_size_of_a_number(bundle, close):
    """A decision on a complex value is a guard."""
    def power(x):
        z = torch.complex(x[0], x[1])
        return real(z * 2 if bool(z.abs().sum() > 1) else z / 2)

    report = lazyrt.export(power, (torch.ones(2, 3),), bundle)
    assert report.verdict == "SPECIALIZED"
    program = lazyrt.load(bundle)
    close(program(torch.ones(2, 3) * 2), power(torch.ones(2, 3) * 2))
    with pytest.raises(lazyrt.Error, match="another path"):
        program(torch.zeros(2, 3))


REFUSED = {
    "input": (lambda z: z.real, lambda: (torch.randn(3, dtype=torch.cfloat),), "complex64"),
    "result": (lambda x: torch.fft.fft(x), lambda: (torch.randn(8),), "view_as_real"),
    "number": (lambda x: x * (torch.fft.fft(x)[1].item() * 2).real, lambda: (torch.randn(8),), "complex"),
    "eigenvalues": (lambda x: torch.linalg.eigvals(x).real, lambda: (torch.randn(3, 3),), "eig"),
    "inverse": (lambda x: torch.linalg.inv(torch.complex(x, x.t())).real, lambda: (torch.randn(3, 3),), "complex"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, bundle):
    program, make, word = REFUSED[name]
    torch.manual_seed(0)
    with pytest.raises(lazyrt.ExportError, match=word):
        lazyrt.export(program, make(), bundle)
