// SPDX-License-Identifier: Apache-2.0
// DFCM of paper 3 as a codec of single frames (docs/reference/codecs/dfcm.md). It is slower than the other codecs and
// usually compresses worse, so it serves only for comparisons and is used only when the caller asks for it.
// DfcmPredictor is the form of the paper, with tables that are kept from frame to frame.
#include "codecs/codec.hpp"
#include "codecs/predict/dfcm_predictor.hpp"

namespace antiphon::codec {

namespace {

bool always() { return true; }

DfcmPredictor& fresh_predictor() {
  thread_local DfcmPredictor predictor;
  predictor.reset();
  return predictor;
}

std::size_t encode_body(const EncodeJob& job, Bytes out) {
  return fresh_predictor().encode({u8_of(job.raw), job.raw.size()}, u8_of(out), job.raw.size() - 1);
}

Error decode_body(const DecodeJob& job) {
  const std::span<const std::uint8_t> body(u8_of(job.body), job.body.size());
  return fresh_predictor().decode(body, {u8_of(job.raw_out), job.raw_out.size()}) ? Error::none : Error::damaged;
}

}  // namespace

extern const Codec dfcm{Id::dfcm,    "dfcm", "value prediction of paper 3, the baseline", always, encode_body,
                        decode_body, nullptr};

}  // namespace antiphon::codec
