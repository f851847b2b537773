# A real one copies to where people get it.
set -eu
mkdir release
cp "$RAMET_ARTIFACTS"/compile/*/dist/* "$RAMET_ARTIFACTS/sums/SHA256SUMS" release
cd release
sha256sum --check --quiet SHA256SUMS
echo "files=$(ls | wc -l)" >>"$RAMET_RESULT"
