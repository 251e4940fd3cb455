"""What a cold start of a tool's function has to load."""

import subprocess
import sys

LIGHT = (
    "challenge, entities, erase_memory, forget, link, list_memories, memory_history,"
    " move_memories, restore_memory"
)
HEAVY = "{'numpy', 'onnxruntime', 'tokenizers', 'boto3'}"


def test_tools_that_embed_nothing_load_nothing_of_it():
    program = (
        f"import sys\nfrom zero_memory.tools import {LIGHT}\nprint({HEAVY} & {{*sys.modules}})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "set()\n"
