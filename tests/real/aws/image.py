"""A machine image for instances: Debian with what Debian's own images for EC2 have, kept in the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from real.machines.machines import Machines, get_cache_folder

PACKAGES = "awscli ca-certificates cloud-init curl e2fsprogs nftables openssh-client openssh-server python3 sudo"
CLOUD = """\
datasource_list: [Ec2]
datasource: {Ec2: {strict_id: false, max_wait: 60, timeout: 10}}
network: {config: disabled}
"""
"""cloud-init does not recognize a container as an instance, and has no network to configure."""
BAKE = f"""
set -e
export DEBIAN_FRONTEND=noninteractive
update-ca-certificates >/dev/null 2>&1 || true
apt-get update -q
apt-get install -y -q --no-install-recommends {PACKAGES}
cat >/etc/cloud/cloud.cfg.d/90-emulated.cfg <<'CLOUD'
{CLOUD}CLOUD
echo 'policy: enabled' >/etc/cloud/ds-identify.cfg
# as on a Xen instance: only then cloud-init uses session tokens; a container cannot have the file in /sys
echo ec2a1b2c-0000-4000-8000-000000000000 >/etc/hypervisor-uuid
sed -i 's|/sys/hypervisor/uuid|/etc/hypervisor-uuid|' /usr/lib/python3/dist-packages/cloudinit/sources/DataSourceEc2.py
grep -q /etc/hypervisor-uuid /usr/lib/python3/dist-packages/cloudinit/sources/DataSourceEc2.py
update-ca-certificates
apt-get clean
rm -rf /var/lib/apt/lists/*   # images have none
cloud-init clean --logs
"""


def bake(certificate: Path) -> Path:
    """The folder of the image; machines made of it trust the certificate."""
    hashed = hashlib.sha256(f"{BAKE}{certificate.read_text()}".encode()).hexdigest()[:16]
    folder = get_cache_folder() / "images" / f"ec2-{hashed}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Machines() as machines:
            machine = machines.boot("image", 10)
            machine.copy_in(certificate, "/usr/local/share/ca-certificates/emulated-aws.crt")
            machine.run(BAKE, timeout=1800)
            machines.keep(machine, folder)
    return folder
