"""Builds an archive of the release and says its checksum."""
import hashlib
import io
import os
import tarfile

version = os.environ["RAMET_PARAM_VERSION"]
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w") as tar:
    for name, text in {"VERSION": version, "hello.txt": f"hello from {version}\n"}.items():
        entry = tarfile.TarInfo(f"release-{version}/{name}")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))

checksum = hashlib.sha256(packed.getvalue()).hexdigest()[:16]
print(f"release-{version}.tar has {len(packed.getvalue())} bytes, checksum {checksum}")
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"checksum={checksum}\n")
