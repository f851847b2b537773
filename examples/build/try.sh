# The files of all jobs of the step `compile` are below $RAMET_ARTIFACTS/compile, each in the folder of its index.
set -eu
words=$(python3 -c 'import json, os; print(json.loads(os.environ["RAMET_ITEM"])["words"])')
"$RAMET_ARTIFACTS"/compile/*/dist/hello-linux-amd64 ${words:+"$words"} >said
cat said
grep -q "^hello ${words:-world}$" said
grep -q "^version $VERSION " said
