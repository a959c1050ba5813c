#!/usr/bin/env bash
# same.sh NAME ONE TWO SIZE…: runs the pipeline on the devices ONE and TWO, and then on one device. Prints which tensors
# were moved, and whether the results are equal bit for bit. Writes the trace to NAME.json.
set -euo pipefail
name=$1 one=$2 two=$3
sizes=()
for size in "${@:4}"; do sizes+=(--set "$size"); done
run() {  # NAME ONE TWO
  KDL_TRACE=$1.json kernelc run two_devices.kdl "${sizes[@]}" --device "one=$2" --device "two=$3" --out "y=@$1.npy" -v
}
run single host host > single.txt
run "$name" "$one" "$two" > "$name.txt"
grep 'layer reads it' "$name.txt" || true  # nothing moves if the devices share memory
cmp single.npy "$name.npy" && echo "$one and $two: the same bits"
