#!/usr/bin/env python3
"""Opens the HTML report in a headless browser and checks that the page shows what the JSON report says.

Usage: browser_test.py POLICY_REPORTS. Skips (status 77, with the number of checks left out) where no browser is installed.
"""
import html.parser
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Page(html.parser.HTMLParser):
    """The rows of the report: their data, and all text inside of them; and the page's title and elements."""

    def __init__(self):
        super().__init__()
        self.rows, self.accesses, self.elements, self.title = [], [], [], ""
        self.stack, self.row = [], None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        if tag == "tr" and "data-kernel" in attrs:
            self.rows.append({"data": attrs, "text": "", "allowed_by": []})
        if tag == "tr":
            self.row = None
            if "data-kernel" in attrs:
                self.row = self.rows[-1]
            elif "data-unproven" in attrs:
                self.row = {"kernel": attrs["data-unproven"], "text": ""}
                self.accesses.append(self.row)
        if "data-allowed-by" in attrs:
            self.rows[-1]["allowed_by"].append(attrs["data-allowed-by"])
        self.stack.append(tag)

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        if "title" in self.stack:
            self.title += data
        if "tr" in self.stack and self.row:
            self.row["text"] += data


def dump(browser, page):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, timeout=90, check=False)
    if done.returncode != 0:
        sys.exit(f"{browser} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def expected_rows(report):
    """The rows in the page's order: kernels by first appearance, the events of each in order."""
    kernels = list(dict.fromkeys(event["kernel"] for event in report["events"]))
    return [event for kernel in kernels for event in report["events"] if event["kernel"] == kernel]


def check(report, page):
    problems = []

    def expect(condition, what):
        if not condition:
            problems.append(what)

    events = expected_rows(report)
    expect(len(page.rows) == len(events), f"{len(page.rows)} rows for {len(events)} events")
    for number, (row, event) in enumerate(zip(page.rows, events)):
        data, text = row["data"], " ".join(row["text"].split())
        subject = {"decision": event.get("optimisation"), "gate": "gate", "ignored-grant": "grant"}[event["event"]]
        expect(data["data-kernel"] == event["kernel"], f"row {number}: kernel {data['data-kernel']!r}")
        expect(data["data-target"] == event.get("target", ""), f"row {number}: target {data['data-target']!r}")
        expect(data["data-subject"] == subject, f"row {number}: subject {data['data-subject']!r}")
        expect(data["data-outcome"] == event.get("outcome", "ignored"), f"row {number}: outcome {data['data-outcome']!r}")
        expect(row["allowed_by"] == event.get("allowed_by", []), f"row {number}: allowed by {row['allowed_by']!r}")
        shown = [event.get(key, "") for key in ("why", "proof", "reason", "lowering", "grant")] + event.get("grants", [])
        if "line" in event:
            shown.append(f"{event['file']}:{event['line']}:{event['column']}")
        for piece in shown:
            expect(" ".join(piece.split()) in text, f"row {number}: {piece!r} is not shown in {text!r}")
    accesses = sorted(report["unproven_accesses"], key=lambda access: [row["kernel"] for row in page.accesses].index(access["kernel"]))
    expect(len(page.accesses) == len(accesses), f"{len(page.accesses)} rows for {len(accesses)} unproven accesses")
    for row, access in zip(page.accesses, accesses):
        for piece in (access["why"], f"{access['file']}:{access['line']}:{access['column']}"):
            expect(piece in row["text"], f"{piece!r} is not shown in {row['text']!r}")
    expect(page.title == "Sarek: what the policy decided", f"title {page.title!r}")
    tags = [tag for tag, _ in page.elements]
    expect("script" not in tags, "the page has a script")
    for tag, attrs in page.elements:
        for name in ("src", "href"):
            expect(attrs.get(name, "#").startswith("#"), f"<{tag} {name}={attrs.get(name)!r}> leaves the page")
    # What a screen reader needs: a language, one first heading, a caption and column headings a table, a heading a row.
    expect(dict(page.elements[0][1]).get("lang") == "en", "no language")
    expect(tags.count("h1") == 1, "not one first heading")
    expect(tags.count("caption") == tags.count("table") > 0, "a table without a caption")
    expect(sum(attrs.get("scope") == "row" for _, attrs in page.elements) == len(events) + len(accesses), "a row without a heading")
    expect(tags.count("figure") == len(report["plans"]), "fusion plans")
    return problems


def main():
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        if not browser:
            print(f"SKIP: no browser ({', '.join(BROWSERS)}); {len(report['events'])} rows not checked")
            sys.exit(77)
        page = Page()
        page.feed(dump(browser, folder / "report.html"))
    problems = check(report, page)
    print("\n".join(problems) or f"{len(page.rows)} rows and {len(page.accesses)} unproven accesses show what the JSON report says")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
