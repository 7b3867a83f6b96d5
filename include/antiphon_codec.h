/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANTIPHON_CODEC_H
#define ANTIPHON_CODEC_H

/* Lossless compression of messages for C and for bindings of other languages: include/antiphon/codec.hpp as C, in
 * libantiphon_core.so. Nothing here needs MPI. Functions that return int return ANTIPHON_CODEC_OK or an error. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ANTIPHON_CODEC_OK = 0,
  ANTIPHON_CODEC_TRUNCATED = 1,
  ANTIPHON_CODEC_DAMAGED = 2,
  ANTIPHON_CODEC_VERSION = 3,
  ANTIPHON_CODEC_UNAVAILABLE = 4,
  ANTIPHON_CODEC_WRONG_SIZE = 5,
  ANTIPHON_CODEC_MISSING_REFERENCE = 6,
  ANTIPHON_CODEC_WRONG_REFERENCE = 7,
  ANTIPHON_CODEC_NO_MEMORY = 100,
  ANTIPHON_CODEC_BAD_ARGUMENT = 101
};

/* Ids of the codecs, as in a frame's head; ANTIPHON_CODEC_AUTO lets the library choose. */
enum {
  ANTIPHON_CODEC_STORED = 0,
  ANTIPHON_CODEC_SPATIAL = 1,
  ANTIPHON_CODEC_TEMPORAL = 2,
  ANTIPHON_CODEC_DFCM = 3,
  ANTIPHON_CODEC_LZ4 = 4,
  ANTIPHON_CODEC_ZSTD = 5,
  ANTIPHON_CODEC_AUTO = 15
};

/* Types of elements, as hints. */
enum {
  ANTIPHON_ELEMENT_UNKNOWN = 0,
  ANTIPHON_ELEMENT_F64 = 1,
  ANTIPHON_ELEMENT_F32 = 2,
  ANTIPHON_ELEMENT_I64 = 3,
  ANTIPHON_ELEMENT_I32 = 4,
  ANTIPHON_ELEMENT_I16 = 5,
  ANTIPHON_ELEMENT_I8 = 6
};

/* Instruction sets; all write the same bytes. */
enum { ANTIPHON_ISA_BEST = 0, ANTIPHON_ISA_PORTABLE = 1, ANTIPHON_ISA_AVX2 = 2, ANTIPHON_ISA_AVX512 = 3 };

#define ANTIPHON_CODEC_FRAME_OVERHEAD_BYTES 8
#define ANTIPHON_CODEC_NOT_A_FRAME UINT64_MAX

typedef struct antiphon_codec_options {
  size_t struct_bytes; /* sizeof(antiphon_codec_options): later versions may add members */
  int32_t element;
  int32_t codec;
  int32_t isa;
  uint32_t allowed_codecs; /* bit 1 << id */
  double wire_bytes_per_s;
  size_t minimum_frame_bytes;
  size_t history_bytes; /* encoders only: memory for earlier messages at each end */
} antiphon_codec_options;

typedef struct antiphon_codec_statistics {
  uint64_t messages, raw_bytes, frame_bytes;
  uint64_t stored_frames, spatial_frames, temporal_frames, repeat_frames;
  uint64_t codec_ns, plans, history_bytes;
} antiphon_codec_statistics;

/* Sets all options to their defaults. */
void antiphon_codec_options_init(antiphon_codec_options* options);

size_t antiphon_codec_bound(size_t raw_bytes);
uint32_t antiphon_codec_available(void);
const char* antiphon_codec_name(int32_t codec);    /* "spatial", …; "?" for an unknown id */
const char* antiphon_codec_summary(int32_t codec); /* one line; "" for an unknown id */
int32_t antiphon_codec_id(const char* name);       /* ANTIPHON_CODEC_AUTO for an unknown name */
int32_t antiphon_codec_best_isa(void);
const char* antiphon_codec_isa_name(int32_t isa);
const char* antiphon_codec_error(int error);

/* Encodes a single frame. options may be NULL. out has antiphon_codec_bound(raw_bytes) bytes; a stored frame is copied
 * there too. Sets *frame_bytes, and *used_codec (may be NULL) to the codec that was used. */
int antiphon_codec_encode(const void* raw, size_t raw_bytes, const antiphon_codec_options* options, void* out,
                          size_t out_bytes, size_t* frame_bytes, int32_t* used_codec);
/* Decodes a frame. out_bytes must be antiphon_codec_raw_bytes(frame). */
int antiphon_codec_decode(const void* frame, size_t frame_bytes, void* out, size_t out_bytes, int32_t isa);
uint64_t antiphon_codec_raw_bytes(const void* frame, size_t frame_bytes);
int32_t antiphon_codec_of(const void* frame, size_t frame_bytes); /* ANTIPHON_CODEC_AUTO: not a frame */

/* The two ends of a link; see Encoder and Decoder in include/antiphon/codec.hpp. */
typedef struct antiphon_codec_encoder antiphon_codec_encoder;
typedef struct antiphon_codec_decoder antiphon_codec_decoder;
antiphon_codec_encoder* antiphon_codec_encoder_new(const antiphon_codec_options* options);
void antiphon_codec_encoder_free(antiphon_codec_encoder* encoder);
int antiphon_codec_encoder_encode(antiphon_codec_encoder* encoder, int64_t tag, uint64_t message_bytes, uint32_t piece,
                                  int32_t element, const void* raw, size_t raw_bytes, void* out, size_t out_bytes,
                                  size_t* frame_bytes, int32_t* used_codec);
void antiphon_codec_encoder_statistics(const antiphon_codec_encoder* encoder, antiphon_codec_statistics* statistics);
antiphon_codec_decoder* antiphon_codec_decoder_new(int32_t isa);
void antiphon_codec_decoder_free(antiphon_codec_decoder* decoder);
int antiphon_codec_decoder_decode(antiphon_codec_decoder* decoder, const void* frame, size_t frame_bytes, void* out,
                                  size_t out_bytes);
void antiphon_codec_decoder_statistics(const antiphon_codec_decoder* decoder, antiphon_codec_statistics* statistics);

#ifdef __cplusplus
}
#endif

#endif
