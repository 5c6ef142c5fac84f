"""listen-notify.py SOCKET FILE: writes messages of services to systemd (sd_notify) to a file."""

import socket
import sys
from pathlib import Path

where, heard = sys.argv[1:]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server, Path(heard).open("a") as file:
    server.bind(where)
    Path(where).chmod(0o777)  # services run as other users
    while True:
        print(server.recv(4096).decode(), file=file, flush=True)
