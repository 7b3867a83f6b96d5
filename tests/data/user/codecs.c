// SPDX-License-Identifier: Apache-2.0
#include <antiphon_codec.h>
#include <stdio.h>
int main(void) {
  printf("codecs %d\n", antiphon_codec_available() != 0);
  return 0;
}
