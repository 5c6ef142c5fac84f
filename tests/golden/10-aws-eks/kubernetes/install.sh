#!/usr/bin/env bash
# made by supercloud VERSION from the spec block; do not edit
# Installs the locked charts, then applies the objects, folder by folder. It is idempotent.
# Requires helm 3.8 or later and kubectl with administrator permissions on the cluster.
set -euo pipefail
cd "$(dirname "$0")"

kubectl apply --server-side --force-conflicts -k namespaces
# before the queue, which looks for this type once, when it starts
kubectl apply --server-side --force-conflicts -k definitions
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
helm upgrade --install aws-efa aws-efa-k8s-device-plugin --repo https://aws.github.io/eks-charts \
    --version v0.5.29 --namespace kube-system --values charts/aws-efa.yaml --wait --timeout 15m
helm upgrade --install cluster-autoscaler cluster-autoscaler --repo https://kubernetes.github.io/autoscaler \
    --version 9.54.0 --namespace kube-system --values charts/cluster-autoscaler.yaml --wait --timeout 15m
for folder in definitions accelerators fabrics storage queues monitoring; do
    kubectl apply --server-side --force-conflicts -k "$folder"
done
