#!/usr/bin/env bash
# made by supercloud VERSION from the spec k8s; edits are lost
# Installs the locked charts, then applies the objects, folder by folder. It can be run again at any time.
# Needs helm 3.8 or later and kubectl with rights of an administrator on the cluster.
set -euo pipefail
cd "$(dirname "$0")"

kubectl apply --server-side --force-conflicts -k namespaces
# before the charts, some of which run on nodes with a label only
kubectl apply --server-side --force-conflicts -k nodes
helm upgrade --install cilium cilium --repo https://helm.cilium.io \
    --version 1.20.2 --namespace kube-system --values charts/cilium.yaml --wait --timeout 15m
helm upgrade --install kube-prometheus-stack kube-prometheus-stack --repo https://prometheus-community.github.io/helm-charts \
    --version 84.4.0 --namespace monitoring --values charts/kube-prometheus-stack.yaml --wait --timeout 15m
helm upgrade --install node-problem-detector oci://ghcr.io/deliveryhero/helm-charts/node-problem-detector \
    --version 2.3.16 --namespace monitoring --values charts/node-problem-detector.yaml --wait --timeout 15m
helm upgrade --install jobset oci://registry.k8s.io/jobset/charts/jobset \
    --version 0.12.0 --namespace jobset-system --values charts/jobset.yaml --wait --timeout 15m
helm upgrade --install lws oci://registry.k8s.io/lws/charts/lws \
    --version 0.9.0 --namespace lws-system --values charts/lws.yaml --wait --timeout 15m
helm upgrade --install kueue oci://registry.k8s.io/kueue/charts/kueue \
    --version 0.19.2 --namespace kueue-system --values charts/kueue.yaml --wait --timeout 15m
helm upgrade --install gpu-operator gpu-operator --repo https://helm.ngc.nvidia.com/nvidia \
    --version v26.7.0 --namespace gpu-operator --values charts/gpu-operator.yaml --wait --timeout 15m
helm upgrade --install network-operator network-operator --repo https://helm.ngc.nvidia.com/nvidia \
    --version 26.4.1 --namespace nvidia-network-operator --values charts/network-operator.yaml --wait --timeout 15m
for folder in nodes tenants accelerators fabrics storage queues monitoring; do
    kubectl apply --server-side --force-conflicts -k "$folder"
done
