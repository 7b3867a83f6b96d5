# SPDX-License-Identifier: Apache-2.0
"""Checks the headers that come with the wheel, by programs in C and C++ that use the codecs without MPI."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from antiphon import codec

C = r"""
#include <antiphon_codec.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  double wave[2000];
  for (int i = 0; i < 2000; ++i) wave[i] = 1.0 + 0.25 * i;
  size_t bytes = 0, room = antiphon_codec_bound(sizeof wave);
  void* frame = malloc(room);
  if (antiphon_codec_encode(wave, sizeof wave, NULL, frame, room, &bytes, NULL) != ANTIPHON_CODEC_OK) return 1;
  return fwrite(frame, 1, bytes, stdout) == bytes ? 0 : 1;
}
"""
CPP = r"""
#include <antiphon_codec.hpp>
#include <cstdio>

int main() {
  antiphon_codec::Encoder sender;
  antiphon_codec::Decoder receiver;
  std::vector<double> copy(2000);
  for (int step = 0; step < 12; ++step) {
    std::vector<double> wave(2000);
    for (int i = 0; i < 2000; ++i) wave[i] = 1.0 + 0.25 * i * i + 0.125 * step * i;
    const auto frame = sender.encode(antiphon_codec::bytes_of(wave), 7, ANTIPHON_ELEMENT_F64);
    receiver.decode(frame, std::as_writable_bytes(std::span(copy)));
    if (copy != wave) return 1;
  }
  const auto frame = antiphon_codec::encode(antiphon_codec::bytes_of(copy));
  std::vector<double> other(antiphon_codec::raw_bytes(frame) / sizeof(double));
  antiphon_codec::decode(frame, std::as_writable_bytes(std::span(other)));
  try {
    antiphon_codec::decode(std::span(frame).first(20), std::as_writable_bytes(std::span(other)));
    return 2;
  } catch (const antiphon_codec::Error& error) {
    std::printf("%s, %d\n", error.what(), sender.statistics().temporal_frames > 0);
  }
  return other == copy ? 0 : 3;
}
"""


def compiled(compiler: str, source: str, suffix: str, folder: Path) -> bytes:
    """Returns the output of the program, which is compiled with only the headers and the library."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    (folder / f"program{suffix}").write_text(source)
    standard = "-std=c11" if suffix == ".c" else "-std=c++20"
    rpath = f"-Wl,-rpath,{codec.library().parent}"
    command = [compiler, standard, "-Wall", "-Wextra", "-Werror", f"-I{codec.include_dir()}", f"program{suffix}"]
    subprocess.run([*command, codec.library(), rpath, "-o", "program"], cwd=folder, check=True)
    return subprocess.run([folder / "program"], stdout=subprocess.PIPE, check=True).stdout


def test_c(tmp_path: Path) -> None:
    """GIVEN a C program THEN its frames are those of every other interface."""
    wave = struct.pack("<2000d", *(1.0 + 0.25 * i for i in range(2000)))
    frame = compiled("cc", C, ".c", tmp_path)
    assert codec.decode(frame) == wave
    assert frame == codec.encode(wave)


def test_null_pointers(tmp_path: Path) -> None:
    """GIVEN null pointers THEN each function that can say so or leave things as they are does."""
    calls = """
      antiphon_codec_options_init(NULL);
      antiphon_codec_encoder_statistics(NULL, NULL);
      antiphon_codec_decoder_statistics(NULL, NULL);
      putchar(antiphon_codec_id(NULL) == ANTIPHON_CODEC_AUTO ? 'a' : 'b');
    """
    source = f"#include <antiphon_codec.h>\n#include <stdio.h>\nint main(void) {{ {calls} return 0; }}\n"
    assert compiled("cc", source, ".c", tmp_path) == b"a"


def test_cpp(tmp_path: Path) -> None:
    """GIVEN a C++ program THEN messages are predicted from earlier ones, and errors are exceptions."""
    assert compiled("c++", CPP, ".cpp", tmp_path) == b"not a frame, or a damaged one, 1\n"
