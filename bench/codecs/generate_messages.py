# SPDX-License-Identifier: Apache-2.0
"""Makes messages like those of many programs with NumPy, in files that antiphon-codec-streams reads."""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

Message = tuple[np.ndarray, int, int]  # values, destination, tag
MAGIC = 0x4D534731
TYPES = {"f8": 1, "f4": 2, "i4": 3, "i8": 4}
VALUES = 8192
GENERATORS: dict[str, Callable[[np.random.Generator], Iterator[Message]]] = {}


def generator(function: Callable[[np.random.Generator], Iterator[Message]]) -> Callable:
    GENERATORS[function.__name__] = function
    return function


def simple(name: str, count: int, make: Callable[[np.random.Generator], np.ndarray]) -> None:
    GENERATORS[name] = lambda rng: ((make(rng), 1, 1) for _ in range(count))


simple("uniform", 20, lambda rng: rng.random(VALUES))
simple("normal_f32", 20, lambda rng: rng.normal(size=2 * VALUES).astype("f4"))
simple("random", 20, lambda rng: rng.integers(-(2**63), 2**63 - 1, VALUES, dtype=np.int64))
simple("decimals", 10, lambda rng: np.round(rng.normal(size=VALUES) * 100, 3))
simple("ids_sorted", 10, lambda rng: np.sort(rng.integers(0, 10**7, VALUES)))
simple("md_f32", 10, lambda rng: (np.cumsum(rng.random((8000, 3)), 0) % 37).astype("f4"))
simple("zeros90", 10, lambda rng: np.where(rng.random(VALUES) < 0.9, 0, rng.normal(size=VALUES)))
simple("zero", 10, lambda rng: np.zeros(VALUES))
simple("gauss_i32", 10, lambda rng: (rng.normal(size=VALUES) * 1000).astype("i4"))
simple("i16", 10, lambda rng: (np.cumsum(rng.normal(size=4 * VALUES)) * 30).astype("i2"))


@generator
def csr_i32(rng: np.random.Generator) -> Iterator[Message]:
    """Sends column numbers of a 27-point stencil."""
    stencil = np.array([a * 10000 + b * 100 + c for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)])
    for _ in range(10):
        yield (np.arange(1000)[:, None] + stencil + 20000).astype("i4"), 1, 1


@generator
def pcg(rng: np.random.Generator) -> Iterator[Message]:
    """Sends planes of the search direction of conjugate gradients."""
    size = 48
    b = rng.random((size, size, size))

    def product(x: np.ndarray) -> np.ndarray:
        return 6.1 * x - 0.98 * sum(np.roll(x, step, axis) for axis in range(3) for step in (1, -1))

    residual = b.copy()
    direction = residual.copy()
    square = (residual * residual).sum()
    for _ in range(40):
        yield direction[0].copy(), 1, 5
        yield direction[-1].copy(), 2, 5
        ap = product(direction)
        residual -= square / (direction * ap).sum() * ap
        before, square = square, (residual * residual).sum()
        direction = residual + square / before * direction


def heat(rng: np.random.Generator, kind: str) -> Iterator[Message]:
    """Sends rows of a cooling plate."""
    x, y = np.meshgrid(np.linspace(0, 1, 256), np.linspace(0, 1, 256))
    t = np.sin(6 * x) * np.cos(5 * y) + 0.1 * np.exp(-50 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    for _ in range(60):
        around = t[2:, 1:-1] + t[:-2, 1:-1] + t[1:-1, 2:] + t[1:-1, :-2]
        t[1:-1, 1:-1] += 0.2 * (around - 4 * t[1:-1, 1:-1])
        yield t[1:17].astype(kind), 1, 1


GENERATORS["heat_f64"] = lambda rng: heat(rng, "f8")
GENERATORS["heat_f32"] = lambda rng: heat(rng, "f4")


def euler(fields_first: bool) -> Iterator[Message]:
    """Sends states of a shock tube: five variables, constant on both sides of the waves."""
    size, gamma = 200, 1.4
    left = (np.arange(size) < size // 2)[:, None] * np.ones((size, 64), bool)
    density, pressure = np.where(left, 1.0, 0.125), np.where(left, 1.0, 0.1)
    u = np.stack([density, 0 * density, 0 * density, 0 * density, pressure / (gamma - 1)], -1)
    for step in range(240):
        r, velocity = u[..., 0], u[..., 1] / u[..., 0]
        p = (gamma - 1) * (u[..., 4] - 0.5 * r * velocity**2)
        momentum, energy = r * velocity, velocity * (u[..., 4] + p)
        flux = np.stack([momentum, momentum * velocity + p, u[..., 2] * velocity, 0 * p, energy], -1)
        speed = np.abs(velocity) + np.sqrt(gamma * p / r)
        fastest = np.maximum(speed[1:], speed[:-1])[..., None]
        face = 0.5 * (flux[1:] + flux[:-1]) - 0.5 * fastest * (u[1:] - u[:-1])
        u[1:-1] -= 0.06 * (face[1:] - face[:-1])
        if step % 4 == 3:
            yield np.ascontiguousarray(np.moveaxis(u[60:124], -1, 0) if fields_first else u[60:124]).copy(), 1, 1


GENERATORS["euler_aos"] = lambda rng: euler(False)
GENERATORS["euler_soa"] = lambda rng: euler(True)


@generator
def fft(rng: np.random.Generator) -> Iterator[Message]:
    """Sends transposes of a three-dimensional FFT of decaying turbulence."""
    k = np.fft.fftfreq(64) * 64
    wave = np.sqrt(k[:, None, None] ** 2 + k[None, :, None] ** 2 + k[None, None, :] ** 2)
    wave[0, 0, 0] = 1
    spectrum = np.fft.fftn(rng.normal(size=(64, 64, 64))) * wave ** (-11 / 6)
    for _ in range(12):
        spectrum = spectrum * np.exp(-1e-4 * wave**2)
        yield np.fft.ifft(spectrum, axis=0)[:16].copy().view("f8").reshape(-1), 1, -1


@generator
def sweep(rng: np.random.Generator) -> Iterator[Message]:
    """Sends angular fluxes of a wavefront sweep that converges."""
    angle = np.linspace(0.1, 0.9, 6)
    source = 1 + 0.1 * rng.random((50, 50))
    phi = np.zeros((10, 50, 6))
    for iteration in range(60):
        for octant in range(4):
            inflow = source[:10, :, None] * (1 + 0.01 * iteration * np.exp(-iteration / 8))
            phi = np.exp(-angle) * (0.8 * phi + 0.2 * np.roll(phi, 1, 1)) + (1 - np.exp(-angle)) * inflow
            phi += 1e-3 * rng.random(phi.shape) * (iteration < 2)
            yield phi.reshape(500, 6)[:250].copy(), 1, octant


@generator
def structs(rng: np.random.Generator) -> Iterator[Message]:
    """Sends particles of 40 bytes as bytes."""
    kind = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8"), ("id", "i8"), ("type", "i4"), ("weight", "f4")])
    particles = np.zeros(1500, kind)
    for axis in "xyz":
        particles[axis] = rng.random(1500) * 10
    particles["id"] = rng.permutation(10**6)[:1500]
    particles["type"] = rng.integers(0, 4, 1500)
    for _ in range(20):
        for axis in "xyz":
            particles[axis] += rng.normal(size=1500) * 1e-3
        particles["weight"] = rng.random(1500)
        yield np.frombuffer(particles.tobytes(), "u1"), 1, 1


def write(path: Path, messages: Iterator[Message]) -> None:
    with path.open("wb") as file:
        for values, destination, tag in messages:
            payload = values.tobytes()
            kind = TYPES.get(values.dtype.str[1:], 5)
            file.write(struct.pack("<IIIIiiQ", MAGIC, kind, values.itemsize, 2, destination, tag, len(payload)))
            file.write(payload)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in GENERATORS.items():
        write(folder / f"{name}.msgs", make(np.random.default_rng(1)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
