set -eu
work=$PWD
cd "$RAMET_ARTIFACTS/compile"
sha256sum */dist/* | sed 's, [0-9]*/dist/, ,' | sort -k 2 >"$work/SHA256SUMS"
cat "$work/SHA256SUMS"
echo "files=$(wc -l <"$work/SHA256SUMS")" >>"$RAMET_RESULT"
