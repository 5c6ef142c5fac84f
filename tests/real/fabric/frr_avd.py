"""Runs in the environment with pyavd: reads a structured configuration, validates it, and prints EOS text."""

import json
import sys

import pyavd

given = json.load(sys.stdin)
result = pyavd.validate_structured_config(given)
found = result.validation_result
print(
    json.dumps(
        {
            "violations": [f"{item.path}: {item.message}" for item in found.violations],
            "text": pyavd.get_device_config(given),
        }
    )
)
