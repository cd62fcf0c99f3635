#!/usr/bin/env bash
# Makes certificates and a key for development: an authority, the server's certificate, a client's, and a file with one
# API key. Needs openssl.
#   deploy/dev-certificates.sh FOLDER [NAME]...
# NAMEs are further host names or IP addresses of the server; localhost, 127.0.0.1, ::1 and palpate are always included.
#
#   FOLDER/server   what the server reads, and all that is mounted into a container
#   FOLDER/client   what a client needs
#   FOLDER/ca       the authority's private key; it leaves this folder never
#
# Do not use these files for a server that others depend on: the authority's key is unprotected on this disk.
set -euo pipefail
umask 077

die() { printf 'dev-certificates: %s\n' "$1" >&2; exit 1; }

[ $# -ge 1 ] || die 'usage: dev-certificates.sh FOLDER [NAME]...'
command -v openssl >/dev/null || die 'openssl is not installed'
folder=$1
shift
for part in server client ca; do
    [ ! -e "$folder/$part" ] || die "$folder/$part is there already and is not overwritten"
done
days=90

names='DNS:localhost,DNS:palpate,IP:127.0.0.1,IP:::1'
for name in "$@"; do
    case $name in
    *[!A-Za-z0-9.:-]* | '') die "\"$name\" is no host name or address" ;;
    *:*) names+=",IP:$name" ;;
    *[!0-9.]*) names+=",DNS:$name" ;;
    *) names+=",IP:$name" ;;
    esac
done

mkdir -p "$folder"
made=$(mktemp -d "$folder/.making.XXXXXX")
trap 'rm -rf "$made"' EXIT
mkdir "$made/server" "$made/client" "$made/ca"

private_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# certificate NAME KEY OUT EXTENSIONS: makes a certificate signed by the authority.
certificate() {
    openssl req -new -key "$2" -subj "/CN=$1" -out "$made/request"
    openssl x509 -req -in "$made/request" -CA "$made/ca/ca.pem" -CAkey "$made/ca/ca.key" \
        -set_serial "0x$(openssl rand -hex 16 | sed 's/^./1/')" -days "$days" -sha256 \
        -extfile <(printf 'basicConstraints=critical,CA:FALSE\nsubjectKeyIdentifier=hash\n%b' "$4") \
        -out "$3" 2>/dev/null
    rm "$made/request"
}

private_key "$made/ca/ca.key"
openssl req -x509 -new -key "$made/ca/ca.key" -subj '/CN=Palpate development authority' -days "$days" \
    -sha256 -addext 'keyUsage=critical,keyCertSign,cRLSign' -out "$made/ca/ca.pem"

private_key "$made/server/server.key"
certificate palpate "$made/server/server.key" "$made/server/server.pem" \
    "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nsubjectAltName=$names\n"
private_key "$made/client/client.key"
certificate 'palpate development client' "$made/client/client.key" "$made/client/client.pem" \
    'keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\nsubjectAltName=DNS:client\n'
cp "$made/ca/ca.pem" "$made/client/ca.pem"
cp "$made/ca/ca.pem" "$made/server/client-ca.pem"

secret=$(openssl rand -hex 24)
cat >"$made/server/keys.toml" <<END
[[key]]
name = "development"
role = "admin"
secret = "$secret"
END
printf '%s\n' "$secret" >"$made/client/key"
printf 'authorization: Bearer %s\n' "$secret" >"$made/client/authorization"

openssl verify -CAfile "$made/ca/ca.pem" -purpose sslserver "$made/server/server.pem" >/dev/null
openssl verify -CAfile "$made/ca/ca.pem" -purpose sslclient "$made/client/client.pem" >/dev/null
mv "$made/server" "$made/client" "$made/ca" "$folder/"

folder=$(cd "$folder" && pwd)
cat <<END
Made for $days days in $folder. Settings of the server:

[access]
keys_file = "$folder/server/keys.toml"
certificate_file = "$folder/server/server.pem"
private_key_file = "$folder/server/server.key"
# Only with this must clients show a certificate, too.
# client_ca_file = "$folder/server/client-ca.pem"

Clients:

palpate load --server https://127.0.0.1:7447 --tls-ca $folder/client/ca.pem --key-file $folder/client/key
grpcurl -cacert $folder/client/ca.pem -cert $folder/client/client.pem -key $folder/client/client.key \\
    -H "\$(cat $folder/client/authorization)" 127.0.0.1:7447 list
END
