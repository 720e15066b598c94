# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds what was answered in JSON against schemas, as those in docs/schemas."""
import subprocess
import sys

import e2e

SCHEMAS = f"{e2e.SOURCE}/docs/schemas"
# Python's own module, or Debian's for Debian's interpreter.
VALIDATE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import jsonschema
schema = json.load(open(sys.argv[1]))
kind = jsonschema.validators.validator_for(schema)
kind.check_schema(schema)
for line in open(sys.argv[2]).read().splitlines() if sys.argv[3:] else [open(sys.argv[2]).read()]:
    for error in kind(schema).iter_errors(json.loads(line)):
        print("/".join(map(str, error.absolute_path)), error.message[:200])
"""


def validator(test):
    """An interpreter that has jsonschema, or None, and the test's name is said to be skipped so far."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jsonschema"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    print(f"SKIPPED: {test}: jsonschema (Debian: python3-jsonschema) is not installed: nothing is held against "
          "schemas", flush=True)
    return None


def errors_of(bench, python, schema, path, *lines):
    """What is wrong with the object in a file; with `lines`, with that in each of its lines. "" if nothing is."""
    run = bench.run(python, "-c", VALIDATE, schema, path, *lines)
    return run.out if run.status == 0 else run.err
