#!/usr/bin/env python3
"""Validates reports and manifests against their JSON schemas.

Usage: schema_test.py POLICY_REPORTS SOURCE_FOLDER. Needs the python package jsonschema. SARIF is validated against the public schema where
a copy of it is found: SAREK_SARIF_SCHEMA, or .deps/schemas/sarif-schema-2.1.0.json, which tools/setup --checks fetches. Status 77 when nothing
could be checked.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GOOD = [
    {"version": 1, "grants": []},
    {"$schema": "sarek.policy.schema.json", "version": 1,
     "grants": [{"grant": "accumulation-order", "kernel": "gemm", "reason": "QA-112"},
                {"grant": "automatic-float-rewrite", "scope": "process", "reason": "everywhere"}]},
]
BAD_ENTRIES = [
    {"grant": "fast-math", "kernel": "k", "reason": "r"},
    {"grant": "single-rounding", "kernel": "k"},
    {"grant": "single-rounding", "kernel": "k", "reason": "  "},
    {"grant": "single-rounding", "reason": "r"},
    {"grant": "single-rounding", "kernel": "k", "scope": "process", "reason": "r"},
    {"grant": "single-rounding", "scope": "k", "reason": "r"},
    {"grant": "single-rounding", "kernel": "sarek_kern", "reason": "r"},
    {"grant": "single-rounding", "kernel": "", "reason": "r"},
    {"grant": "single-rounding", "kernel": "k", "reason": "r", "allow": True},
]


def main():
    try:
        import jsonschema
    except ImportError:
        print("SKIP: the python package jsonschema is not installed; 3 schemas not checked")
        sys.exit(77)
    reports, source = sys.argv[1], pathlib.Path(sys.argv[2])

    def validator(path):
        schema = json.loads(path.read_text(encoding="utf-8"))
        cls = jsonschema.validators.validator_for(schema)
        cls.check_schema(schema)
        return cls(schema)

    problems = []
    manifest = validator(source / "policy/sarek.policy.schema.json")
    for value in GOOD:
        problems += [f"manifest: {error.message}" for error in manifest.iter_errors(value)]
    for entry in BAD_ENTRIES:
        if manifest.is_valid({"version": 1, "grants": [entry]}):
            problems.append(f"manifest: the schema takes {entry}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([reports, folder], check=True)
        report = json.loads((pathlib.Path(folder) / "report.json").read_text(encoding="utf-8"))
        sarif = json.loads((pathlib.Path(folder) / "report.sarif").read_text(encoding="utf-8"))
    explain = validator(source / "policy/sarek.explain.schema.json")
    problems += [f"report: {list(error.path)}: {error.message}" for error in explain.iter_errors(report)]
    refused = [event for event in report["events"] if event.get("outcome") == "refused" or event["event"] == "ignored-grant"]
    refused += report["unproven_accesses"]
    results = sarif["runs"][0]["results"]
    if len(results) != len(refused):
        problems.append(f"SARIF has {len(results)} results for {len(refused)} refusals and ignored grants")
    for result, event in zip(results, refused):
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        if line != event["line"]:
            problems.append(f"SARIF: line {line} for the event at line {event['line']}")
        if event.get("allowed_by") and result["properties"]["grant"] not in event["allowed_by"]:
            problems.append(f"SARIF: the grant {result['properties']['grant']} is not among {event['allowed_by']}")
    public = pathlib.Path(os.environ.get("SAREK_SARIF_SCHEMA", source / ".deps/schemas/sarif-schema-2.1.0.json"))
    if public.exists():
        schema = validator(public)
        problems += [f"SARIF: {list(error.path)}: {error.message}" for error in schema.iter_errors(sarif)]
        # What a wrong writer would make, so that a schema which takes everything is noticed.
        for what, value in (("level", "grave"), ("message", "a string"), ("ruleIndex", "0"), ("locations", [{"physicalLocation": {"region": {"startLine": 0}}}]),
                            ("line", 7)):
            broken = json.loads(json.dumps(sarif))
            broken["runs"][0]["results"][0][what] = value
            if schema.is_valid(broken):
                problems.append(f"SARIF: the schema takes a result with {what} = {value}")
        print("SARIF: checked against the public schema")
    else:
        print("SKIP: no copy of the public SARIF schema; 1 schema not checked")
    print("\n".join(problems) or f"{len(report['events'])} events and {len(results)} results are valid")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
