#!/usr/bin/env bash
# made by supercloud VERSION from the spec k8s; do not edit
# Joins a further host to the control plane; reads the certificate key from standard input. kubeadm refuses
# --certificate-key together with --config, so that the key must be in its configuration, and the bundle has no secrets.
set -euo pipefail
cd "$(dirname "$0")"

IFS= read -r key
[[ $key =~ ^[0-9a-fA-F]{64}$ ]] || { echo "the certificate key must be 64 hexadecimal digits" >&2; exit 1; }
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(<kubeadm-join-control-plane.yaml)
printf '%s\n' "${text/certificateKey: \"\"/certificateKey: \"$key\"}" > "$folder/kubeadm.yaml"
kubeadm join --config "$folder/kubeadm.yaml"
# after kubeadm, which requires that the folder is empty
cp kube-vip.yaml /etc/kubernetes/manifests/
