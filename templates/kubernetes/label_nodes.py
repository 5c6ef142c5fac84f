#!/usr/bin/env python3
"""Set the labels and taints of nodes from a table: python3 label_nodes.py FOLDER.

The *.txt files of the folder contain lines of: prefix, first and last number, width, then key=value (a label) or
key=value:effect
(a taint). Nodes that are not in the table, and labels and taints of other keys, are left unchanged. In a pod it uses
the
pod's service account; elsewhere KUBE_SERVER, KUBE_TOKEN and KUBE_CA.
"""

import json
import os
import pathlib
import re
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")


def read_table(folder):
    """Prefix -> list of (first, last, width, labels, taints)."""
    found = {}
    for file in sorted(folder.glob("*.txt")):
        for line in file.read_text().splitlines():
            prefix, first, last, width, *facts = line.split()
            labels, taints = {}, []
            for fact in facts:
                key, _, value = fact.partition("=")
                value, _, effect = value.partition(":")
                if effect:
                    taints.append({"key": key, "value": value, "effect": effect})
                else:
                    labels[key] = value
            found.setdefault(prefix, []).append((int(first), int(last), int(width), labels, taints))
    return found


def wanted(table, name):
    """Return labels and taints of a node by its name; (None, None) if it is not in the table."""
    host = name.partition(".")[0]
    match = re.fullmatch(r"(.*?)(\d{1,15})", host)
    labels, taints, known = {}, [], False
    # a width of 0: the prefix is the whole name
    rows = [row for row in table.get(host, []) if row[2] == 0]
    if match:
        digits, number = match.group(2), int(match.group(2))
        rows += [
            row
            for row in table.get(match.group(1), [])
            if row[2] and row[0] <= number <= row[1] and digits == str(number).zfill(row[2])
        ]
    for _, _, _, more, keys in rows:
        known = True
        labels.update(more)
        taints += keys
    return (labels, taints) if known else (None, None)


def change(node, labels, taints):
    """Return the patch for a node; None if it needs no change."""
    patch = {}
    have = node["metadata"].get("labels", {})
    missing = {key: value for key, value in labels.items() if have.get(key) != value}
    if missing:
        patch["metadata"] = {"labels": missing}
    present = node.get("spec", {}).get("taints", [])
    keys = {(taint["key"], taint["effect"]) for taint in present}
    if any((taint["key"], taint["effect"]) not in keys for taint in taints):
        patch.setdefault("metadata", {})["resourceVersion"] = node["metadata"]["resourceVersion"]
        more = [taint for taint in taints if (taint["key"], taint["effect"]) not in keys]
        patch["spec"] = {"taints": present + more}
    return patch or None


class Server:
    """A minimal client of the API server."""

    def __init__(self):
        host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        host = f"[{host}]" if ":" in host else host
        self.url = os.environ.get("KUBE_SERVER") or f"https://{host}:{port}"
        token = os.environ.get("KUBE_TOKEN") or (ACCOUNT / "token").read_text()
        self.headers = {"Authorization": "Bearer " + token.strip(), "Accept": "application/json"}
        self.context = ssl.create_default_context(cafile=os.environ.get("KUBE_CA") or str(ACCOUNT / "ca.crt"))

    def call(self, path, method="GET", body=None):
        """Send a request, and return the JSON of the response."""
        headers = dict(self.headers, **{"Content-Type": "application/merge-patch+json"})
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
            return json.load(answer)

    def nodes(self):
        """All nodes of the cluster, read in pages."""
        after = ""
        while True:
            query = urllib.parse.urlencode({"limit": 500, **({"continue": after} if after else {})})
            page = self.call("/api/v1/nodes?" + query)
            yield from page["items"]
            after = page["metadata"].get("continue", "")
            if not after:
                return


def main(folder):
    """Apply the table of labels and taints in a folder to all nodes; the exit code is 1 if a node was not changed."""
    table, server = read_table(pathlib.Path(folder)), Server()
    changed = failed = 0
    for node in server.nodes():
        name = node["metadata"]["name"]
        labels, taints = wanted(table, name)
        patch = change(node, labels, taints) if labels is not None else None
        if patch is None:
            continue
        try:
            server.call("/api/v1/nodes/" + name, "PATCH", patch)
            changed += 1
        except urllib.error.HTTPError as error:
            # a node that has changed (409) or was removed (404) is handled in the next run
            failed += error.code not in (404, 409)
            print(f"{name}: {error}", file=sys.stderr)
    print(f"{changed} nodes changed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
