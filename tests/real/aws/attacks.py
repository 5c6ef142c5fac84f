"""What a user could try from a shell or from a job: commands that must fail, by what they would reach.

``{other}`` is a running job of another tenant's user, ``{name}`` that user, ``{port}`` the port of the key service.
"""

from __future__ import annotations

import base64

__all__ = ["COMMANDS", "build_search"]

_METADATA = "http://169.254.169.254/latest"
_CURL = "curl -sSf --max-time 3"
_TOKEN = f"{_CURL} -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {_METADATA}/api/token"

COMMANDS = {
    "metadata service": [
        _TOKEN,
        f"{_CURL} {_METADATA}/meta-data/",
        f"{_CURL} {_METADATA}/user-data",
        f"unshare -Ur {_TOKEN}",
        f"{_CURL} -g 'http://[fd00:ec2::254]/latest/meta-data/'",
        "aws sts get-caller-identity",
        "aws s3 ls",
    ],
    "key service": [
        f"{_CURL} -X POST -d x http://ctl1:{{port}}/key",
        f"{_CURL} --local-port 700-710 -X POST -d x http://ctl1:{{port}}/key",
        f"unshare -Ur {_CURL} --local-port 700-710 -X POST -d x http://ctl1:{{port}}/key",
    ],
    "root": [
        "sudo -n true",
        "systemctl --no-ask-password restart cron",
        "systemd-run --no-ask-password --wait true",
        "cat /proc/1/environ",
        "cat /var/lib/cloud/instance/user-data.txt",
        "cat /var/log/supercloud/boot.log",
        "journalctl --quiet --no-pager -t slurmctld -t slurmd -t supercloud-keys | grep .",
        # programs that run as another user and are of no package
        "find / -xdev -type f -perm /6000 | while read -r x; do "
        "dpkg -S $x ${{x#/usr}} 2>/dev/null | grep -q : || echo $x; done | grep .",
        "find /etc /opt /usr /root /var/lib/supercloud /var/spool/slurm* /var/log/slurm "
        "-writable ! -type l ! -type s ! -uid $(id -u) | grep .",
    ],
    "administration of Slurm": [
        "scontrol update partitionname=cpu state=down",
        "scontrol update nodename=cpu-0001 state=down reason=x",
        "scontrol create nodename=cpu-0009",
        "scontrol reconfigure",
        "scontrol shutdown",
        "scontrol token username=root",
        "scontrol token username={name}",
        "sacctmgr -i add account mine",
        "sacctmgr -i modify user $USER set adminlevel=admin",
        "sacctmgr -i modify account llm set grptres=cpu=99",
        "mariadb -u root -e 'select 1'",
        "mariadb -h ctl1 -u slurm -e 'select 1'",
        f"{_CURL} -H 'X-SLURM-USER-NAME: root' http://ctl1:6820/slurm/v0.0.38/jobs",
    ],
    "jobs and files of others": [
        "sbatch -A vision --wrap true",
        "srun --uid=0 id",
        "scontrol write batch_script {other} - | grep .",
        "scontrol show job {other}",
        "squeue -h -j {other} | grep .",
        "sacct -n -X -j {other} | grep .",
        "scontrol hold {other}",
        # scancel exits with 0 although it was refused
        "scancel -v {other} 2>&1 | grep -v 'Access/permission denied' | grep -i signal",
        "srun --overlap --jobid {other} id",
        "ls /home/{name}",
    ],
}

_SEARCH = """
import base64, os, stat
needles = {needles}
forms = [form for raw in map(base64.b64decode, needles) for form in (raw, base64.b64encode(raw), raw.hex().encode())]
def read(path):
    try:
        if not path.startswith("/proc"):
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or found.st_size > 1 << 26:
                return b""
        with open(path, "rb") as file:
            return file.read(1 << 26)
    except OSError:
        return b""
paths = ["/proc/%s/%s" % (pid, name) for pid in os.listdir("/proc") if pid.isdigit() for name in ("environ", "cmdline")]
for top in "/boot /dev/shm /etc /home /opt /root /run /srv /tmp /usr/local /var".split():
    paths += [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
mine = "/proc/%d/" % os.getpid()
for path in paths:
    data = read(path)
    if not path.startswith(mine) and any(form in data for form in forms):
        print(path)
"""


def build_search(*secrets: bytes) -> str:
    """Python code that prints the paths of files and processes with a secret, also in base64 or hexadecimal."""
    return _SEARCH.format(needles=[base64.b64encode(secret[:48]).decode() for secret in secrets])
