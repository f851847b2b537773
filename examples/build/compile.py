"""Builds the program for one system and processor: a Python archive here, which runs anywhere."""
import json
import os
import zipapp

target, version = json.loads(os.environ["RAMET_ITEM"]), os.environ["VERSION"]
os.makedirs("source")
with open("source/__main__.py", "w") as f:
    f.write(f"import sys\nprint('hello', *sys.argv[1:] or ['world'])\nprint('version {version} for {target['os']} on {target['arch']}')\n")

os.makedirs("dist")
name = f"dist/hello-{target['os']}-{target['arch']}"
zipapp.create_archive("source", name, interpreter="/usr/bin/env python3")  # it can be executed, and stays so
print(f"{name}: {os.path.getsize(name)} bytes")
