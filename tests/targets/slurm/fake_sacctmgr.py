"""A sacctmgr with its database in a JSON file: the little of it that accounts.sh uses, in the forms Slurm shows."""

import json
import os
import sys
from pathlib import Path

ORDER = ["cpu", "mem", "energy", "node", "billing", "gres/gpu"]
FIELDS = {
    "Share": "fairshare",
    "GrpTRES": "grptres",
    "GrpJobs": "grpjobs",
    "GrpSubmit": "grpsubmitjobs",
    "MaxWall": "maxwall",
    "QOS": "qos",
    "DefaultQOS": "defaultqos",
}

store = Path(os.environ["FAKE_SACCTMGR"])
data = (
    json.loads(store.read_text())
    if store.exists()
    else {"clusters": [], "qos": {"normal": {"priority": "0"}}, "accounts": {}, "users": [], "gpus": False}
)
words = [word for word in sys.argv[1:] if not word.startswith("-")]
options = dict(word.replace("-=", "=-", 1).split("=", 1) for word in words if "=" in word)
verb, noun = words[:2]


def show_tres(text: str) -> str:
    """Unlimited parts are not shown, the others in the order of the database."""
    parts = dict(part.split("=") if part.count("=") == 1 else part.rsplit("=", 1) for part in text.split(",") if part)
    return ",".join(f"{name}={parts[name]}" for name in ORDER if parts.get(name, "-1") != "-1")


def list_rows() -> list[list[str]]:
    if noun == "cluster":
        return [[name] for name in data["clusters"] if name == options["cluster"]]
    if noun == "tres":
        found = [["cpu", ""], ["mem", ""], ["node", ""], ["billing", ""]]
        return [*found, ["gres", "gpu"]] if data["gpus"] else found
    if noun == "qos":
        fields = ("priority", "preempt", "flags")
        values = {name: {"priority": "0", "preempt": "", "flags": "", **item} for name, item in data["qos"].items()}
        return [[name, *(item[key] for key in fields)] for name, item in values.items()]
    found = [["root", "", "1", "", "", "", "", "normal", ""], ["root", "root", "1", "", "", "", "", "normal", ""]]
    for name, item in data["accounts"].items():
        values = [item.get(key, "") for key in FIELDS.values()]
        values[0] = values[0] or "1"
        values[1] = show_tres(values[1])
        found.append([name, "", *("" if value == "-1" else value for value in values)])
    return found + [[account, user, "1", "", "", "", "", "", ""] for user, account in data["users"]]


if verb == "show":
    print("\n".join("|".join(row) for row in list_rows()))
    sys.exit(0)
if verb == "add":
    name = words[2]
    if noun == "cluster":
        data["clusters"].append(name)
    elif noun == "qos":
        data["qos"][name] = {}
    elif noun == "account":
        data["accounts"][name] = {"qos": "normal"}
    else:
        data["users"].append([name, options["account"]])
elif verb == "modify":
    name = options.pop("name")
    target = data["qos"][name] if noun == "qos" else data["accounts"][name]
    options.pop("cluster", None)
    if options.get("preempt") == "":
        sys.exit("QOS Preemption loop detected")
    if "gres/gpu" in options.get("grptres", "") and not data["gpus"]:
        sys.exit("Unknown TRES gres/gpu")
    if "flags+" in options:
        options["flags"] = options.pop("flags+")
    if options.get("preempt", "").startswith("-"):
        options["preempt"] = ""
    target.update(options)
store.write_text(json.dumps(data))
print(f" {verb} {noun}")
