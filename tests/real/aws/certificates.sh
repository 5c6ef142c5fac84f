#!/usr/bin/env bash
# certificates.sh FOLDER REGION: a certificate authority and a certificate for the names of AWS's endpoints, created once.
set -euo pipefail
folder=$1 region=$2
mkdir -p "$folder"
cd "$folder"
exec 9>lock
flock 9
[ ! -e "$region.crt" ] || exit 0
if [ ! -e ca.crt ]; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=Emulated AWS' -keyout ca.key -out ca.crt 2>/dev/null
fi
names=DNS:amazonaws.com
for name in amazonaws.com "$region.amazonaws.com" s3.amazonaws.com "s3.$region.amazonaws.com"; do names+=",DNS:*.$name"; done
openssl req -newkey rsa:2048 -nodes -subj '/CN=amazonaws.com' -keyout "$region.key" -out request 2>/dev/null
openssl x509 -req -in request -days 3650 -CA ca.crt -CAkey ca.key -CAcreateserial -extfile <(echo "subjectAltName=$names") -out "$region.crt.new" 2>/dev/null
mv "$region.crt.new" "$region.crt"
