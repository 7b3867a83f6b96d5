# SPDX-License-Identifier: Apache-2.0
# Starts PROGRAM, on rank 0 alone with TOOL preloaded "before" or "behind" Antiphon.
order=$1 tool=$2 program=$3
case "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" in
  0) case $order in
       before) LD_PRELOAD="$tool:$LD_PRELOAD" ;;
       behind) LD_PRELOAD="$LD_PRELOAD:$tool" ;;
     esac ;;
esac
exec "$program"
