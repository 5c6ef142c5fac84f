#!/bin/sh
# A demo in two minutes: declare, plan, render, submit. Needs only the supercloud command.
set -eu
cd "$(dirname "$0")/.."
SUPERCLOUD_STATE=$(mktemp -d)
OUT=$(mktemp -d)
export SUPERCLOUD_STATE
trap 'rm -rf "$SUPERCLOUD_STATE" "$OUT"' EXIT

run() {
    printf '\n$ %s\n' "$*"
    "$@" 2>&1
}

for example in 01-minimal 02-superpod 03-nvl72 04-roce-24k; do
    run supercloud plan "examples/$example/cluster.yaml"
done
# rendered files are written to a temporary folder, which is shown as out/
render() {
    example=$1
    shift
    printf '\n$ %s\n' "supercloud render examples/$example/cluster.yaml --out out/$example${*:+ $*}"
    supercloud render "examples/$example/cluster.yaml" --out "$OUT/$example" "$@" 2>&1 | sed "s#$OUT#out#g"
}

render 02-superpod --target slurm
for example in 01-minimal 02-superpod 03-nvl72 04-roce-24k; do
    render "$example" | tail -n 1 | sed "s#^#$example: #"
done

run supercloud place examples/02-superpod/job.yaml --on examples/02-superpod/cluster.yaml
run supercloud submit examples/01-minimal/job.yaml --on examples/01-minimal/cluster.yaml --engine local
run supercloud wait 1
run supercloud logs 1
run supercloud jobs

cat <<'END'

The demo is complete. Next, after `. .venv/bin/activate`:
  supercloud init my.yaml --machine dgx-b200 --nodes 64 && supercloud plan my.yaml
  supercloud catalog machines
  supercloud why-not examples/02-superpod/job.yaml --on examples/01-minimal/cluster.yaml
  make test
END
