#!/bin/bash
# Succeeds if a Palpate server serves: requests /health at its metrics address. Needs nothing but bash.
#   health-check.sh [HOST:PORT]
# Without an argument the address is that of PALPATE_METRICS_LISTEN.
set -eu

address=${1:-${PALPATE_METRICS_LISTEN:?set it, or give HOST:PORT}}
host=${address%:*} port=${address##*:}
case $host in
0.0.0.0 | '[::]') host=127.0.0.1 ;;
esac

exec 3<>"/dev/tcp/$host/$port"
printf 'GET /health HTTP/1.1\r\nHost: palpate\r\nConnection: close\r\n\r\n' >&3
IFS= read -r -t 3 status <&3
[[ $status == 'HTTP/1.1 200 '* ]]
