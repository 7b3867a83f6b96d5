// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codecs/codec.hpp"
#include "codecs/frame/bytes.hpp"

/// What the spatial and the temporal codec share: they compute residuals and write these as bit planes.
namespace antiphon::codec {

/// Writes spec (without its extrapolation) and planes. Returns false if they are not shorter than `limit_bytes`.
bool write_planes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work,
                  Writer& out, std::size_t limit_bytes);

/// Reads all of `reader`. The caller sets `spec.extrapolation` and `references`.
Error read_planes(Spec spec, Reader& reader, const References& references, const Kernel& kernel, Work& work,
                  Bytes raw_out);

}  // namespace antiphon::codec
