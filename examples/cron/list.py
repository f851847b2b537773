"""Lists the files of a folder that can be read, with their sizes."""
import os

folder, files, size = os.environ["RAMET_PARAM_FOLDER"], 0, 0
with os.scandir(folder) as entries:
    for entry in sorted(entries, key=lambda e: e.name):
        if entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK):
            files, size = files + 1, size + entry.stat().st_size
            print(f"{entry.stat().st_size:9} {entry.name}")

with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"params.files={files}\nparams.bytes={size}\n")
