"""Device classes pick one kind of accelerator by what its driver reports as its product."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from kube_specs import VARIANTS, build_plan, list_bundle_objects, select_kind

from supercloud.catalog import Catalog
from supercloud.catalog.accelerator import Accelerator
from supercloud.plan.checks.kubernetes_nodes import kubernetes_products
from supercloud.plan.model.plan import Plan
from supercloud.targets import render

# Names that drivers report; those of other products hold a name of ours, or are held in one.
OURS = {
    "NVIDIA A100-SXM4-40GB": "a100-40gb-sxm",
    "NVIDIA A100-SXM4-80GB": "a100-80gb-sxm",
    "NVIDIA A10G": "a10g",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H200": "h200-sxm",
    "NVIDIA H200 NVL": "h200-nvl",
    "NVIDIA GH200 480GB": "gh200-96gb",
    "NVIDIA GH200 144G HBM3e": "gh200-144gb",
    "NVIDIA B200": "b200",
    "NVIDIA GB200": "gb200",
    "NVIDIA GB300": "gb300",
    "NVIDIA B300 SXM6 AC": "b300",
    "NVIDIA L4": "l4",
    "NVIDIA L40S": "l40s",
    "Tesla T4": "t4",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000-blackwell-server",
    "NVIDIA RTX PRO 4500 Blackwell Server Edition": "rtx-pro-4500-blackwell-server",
}
OTHERS = [
    "NVIDIA L40",
    "NVIDIA A10",
    "NVIDIA H20",
    "NVIDIA H100",
    "NVIDIA A100-PCIE-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 4500 Blackwell",
]


def replace_accelerator(plan: Plan, accelerator: Accelerator) -> Plan:
    """A plan whose first pool has another kind of accelerator."""
    return replace(plan, pools=(replace(plan.pools[0], accelerator=accelerator), *plan.pools[1:]))


def list_products(plan: Plan, pool: str) -> list[str]:
    """What a rendered class compares the product with."""
    found = select_kind(list_bundle_objects(render(plan, "kubernetes")), "DeviceClass")[f"{pool}.supercloud.dev"]
    [selector] = found["spec"]["selectors"]
    driver, kind, product = selector["cel"]["expression"].split(" && ")
    assert driver == "device.driver == 'gpu.nvidia.com'"
    assert kind == "device.attributes['gpu.nvidia.com'].type == 'gpu'", "instances report the product, too"
    match = re.fullmatch(r"device\.attributes\['gpu\.nvidia\.com'\]\.productName in (\[.*\])", product)
    assert match, product
    return list(json.loads(match[1]))


@pytest.mark.slow
def test_a_class_matches_the_products_of_its_accelerator_and_no_others() -> None:
    plan, catalog = build_plan(VARIANTS["claims"]), Catalog.load_default()
    accelerators = list(catalog.iter_entries(Accelerator))
    of_maker = [item for item in accelerators if item.kubernetes == "nvidia.com/gpu"]
    assert {item.name for item in of_maker} == set(OURS.values())
    rules = {item.name: item.product_names for item in of_maker}
    for product in [*OURS, *OTHERS]:
        assert [name for name, products in rules.items() if product in products] == (
            [OURS[product]] if product in OURS else []
        ), product
    for name in ("l4", "h200-sxm", "gh200-96gb", "rtx-pro-6000-blackwell-server"):
        accelerator = catalog.get(Accelerator, name)
        assert list_products(replace_accelerator(plan, accelerator), "train") == list(accelerator.product_names)
    odd = catalog.get(Accelerator, "l4").model_copy(update={"product_names": ('it\'s "one"',)})
    assert list_products(replace_accelerator(plan, odd), "train") == ['it\'s "one"']


@pytest.mark.slow
@pytest.mark.parametrize("variant, level", [("claims", "warning"), ("nvl72", "note")])
def test_accelerators_of_unknown_product_have_no_class(variant: str, level: str) -> None:
    plan = build_plan(VARIANTS[variant])
    assert plan.pools[0].accelerator and not list(kubernetes_products(plan, Catalog.load_default()))
    unknown = replace_accelerator(plan, plan.pools[0].accelerator.model_copy(update={"product_names": ()}))
    [finding] = kubernetes_products(unknown, Catalog.load_default())
    assert (finding.level, finding.path) == (level, "pools[0].machine") and "product_names" in finding.hint
    bundle = render(unknown, "kubernetes")
    items = list_bundle_objects(bundle)
    classes = set(select_kind(items, "DeviceClass"))
    assert "train.supercloud.dev" not in classes
    assert {
        f"{name.partition('/')[2].removesuffix('-device')}.supercloud.dev"
        for name in select_kind(items, "ResourceClaimTemplate")
        if name.endswith("-device")
    } <= classes
    assert "train.supercloud.dev" not in bundle["charts/kueue.yaml"]
