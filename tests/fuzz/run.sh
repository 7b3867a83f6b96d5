#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh SECONDS NAME: one fuzzer, beginning with its corpora and what it found before. Its output is in build/fuzz/NAME.log.
set -eu
found=build/fuzz/found/$2
mkdir -p "$found"
[ ! -f "tests/fuzz/packed/$2" ] || python3 tests/fuzz/pack.py unpack "tests/fuzz/packed/$2" "$found"
[ ! -d "tests/fuzz/corpus/$2" ] || cp -n "tests/fuzz/corpus/$2"/* "$found"
case $2 in codec_* | dfcm | multicast_*) options=-max_len=6000 ;; *) options=-dict=tests/fuzz/json.dict ;; esac
if "build/fuzz/${2}_fuzz" "$options" -max_total_time="$1" -artifact_prefix="build/fuzz/$2-" "$found" >"build/fuzz/$2.log" 2>&1; then
  echo "$2: $(grep '^Done' "build/fuzz/$2.log")"
else
  echo "$2: FAILED, see build/fuzz/$2.log" && exit 1
fi
