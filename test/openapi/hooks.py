"""Has schemathesis ask for what is there.

What it makes up seldom names a context, a job or a saga that the node has, so most requests
would get no further than 404. So what the examples make is made before, in context 1, and
of what stands in the path numbers become the example's, and so does every other text.
"""

import os
import urllib.parse

import requests
import schemathesis

NODE, TOKEN = os.environ["RAMET_NODE"], os.environ["RAMET_TOKEN"]
# The numbers of the first that there are: those of the examples are others.
FIRST = {"context": 1, "caller": 1, "id": 1, "flow": 1, "actor": 1}
MAKERS = ("apply", "submit", "create", "send", "publish", "register", "add")
# What the examples make goes by what they stand for; this one is of jobs, and needs nothing else.
BODIES = {"flow.submit": {"jobs": [{"id": 1, "script": "exit 1", "script_type": "shell"}]}}
# Longer than all there is to try would take.
WAITS = ("timeout_ms", "wait_ms")


def operations(raw):
    for path, methods in raw["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def example(operation, name):
    if name in FIRST:
        return FIRST[name]
    return next((p["example"] for p in operation["parameters"] if p.get("name") == name and "example" in p), None)


@schemathesis.hook
def after_load_schema(context, schema):
    made = 0
    for path, method, operation in operations(schema.raw_schema):
        if operation["operationId"].split(".")[1] not in MAKERS:
            continue
        for p in operation.get("parameters", []):
            if p.get("in") == "path":
                path = path.replace("{%s}" % p["name"], urllib.parse.quote(str(example(operation, p["name"])), safe=""))
        body = BODIES.get(operation["operationId"], operation["requestBody"]["content"]["application/json"]["example"])
        answer = requests.request(method, NODE + path, json=body, headers={"Authorization": "Bearer " + TOKEN}, timeout=30)
        made += answer.ok
    assert made > 8, "the examples make next to nothing"


@schemathesis.hook
def before_call(context, case, kwargs):
    raw = case.operation.definition.raw
    for name, value in (case.path_parameters or {}).items():
        there = example(raw, name)
        if there is not None and (isinstance(value, int) or name == "context" or isinstance(value, str) and len(value) % 2 == 0):
            case.path_parameters[name] = there
    if case.headers and case.path_parameters:
        case.headers.pop("X-Tenant-Id", None)  # of another context than the path's it is refused
    for fields in (case.query, case.body):
        for name in WAITS:
            if isinstance(fields, dict) and isinstance(fields.get(name), int):
                fields[name] = 1
