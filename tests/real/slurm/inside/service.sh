#!/bin/bash
# service.sh mariadb|database|slurmdbd|slurmctld: starts one service; the driver waits until it answers.
set -euo pipefail
# shellcheck source=/dev/null
source /lab/settings
# shellcheck source=/dev/null
source /lab/bin/spawn.sh
socket=/run/mysqld/mysqld.sock

case $1 in
mariadb)
    mkdir -p /run/mysqld
    chown mysql: /run/mysqld
    ln -sfn mysqld /run/mariadbd   # the path of newer Debian clients
    [ -d /var/lib/mysql/mysql ] ||
        mariadb-install-db --user=mysql --datadir=/var/lib/mysql --skip-test-db --auth-root-authentication-method=socket
    # slurmdbd requires no snapshot isolation and a long lock wait; older servers ignore a loose- option.
    spawn mariadb mariadbd --no-defaults --user=mysql --datadir=/var/lib/mysql --socket=$socket --skip-name-resolve \
        --innodb-buffer-pool-size=128M --innodb-log-file-size=64M --innodb-lock-wait-timeout=900 \
        --innodb-flush-log-at-trx-commit=0 --loose-innodb-snapshot-isolation=OFF
    ;;
database)
    mariadb -S $socket <<SQL
create database if not exists \`$STORAGE_LOC\`;
create or replace user '$STORAGE_USER'@localhost identified by '$STORAGE_PASS';
create or replace user '$STORAGE_USER'@'%' identified by '$STORAGE_PASS';
grant all on \`$STORAGE_LOC\`.* to '$STORAGE_USER'@localhost;
grant all on \`$STORAGE_LOC\`.* to '$STORAGE_USER'@'%';
SQL
    ;;
slurmdbd)   # it does not start on a host with another name than DbdHost
    # shellcheck disable=SC2016  # for the shell inside
    spawn slurmdbd unshare -u -- bash -euc 'hostname "$1"; exec slurmdbd -D' slurmdbd "$DBD_HOST"
    ;;
slurmctld)  # HOST [ARGUMENT...]
    host=$2
    shift 2
    if [ "$host" = "$CONTROLLER" ]; then
        spawn slurmctld slurmctld -D "$@"
    else
        spawn "slurmctld.$host" /lab/bin/on-host.sh "$host" slurmctld -D "$@"
    fi
    ;;
esac
