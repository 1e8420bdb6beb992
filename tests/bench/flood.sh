#!/bin/sh
# flood.sh FILE MARKS [ROUNDS]: on every Enter prints FILE and writes a line to MARKS, when that began and when it ended (nanoseconds).
# Ends after ROUNDS, when they are given.
stty -echo
echo ready
left=${3:--1}
while [ "$left" -ne 0 ] && read -r _; do
  begin=$(date +%s%N)
  cat "$1"
  echo "$begin $(date +%s%N)" >>"$2"
  left=$((left - 1))
done
