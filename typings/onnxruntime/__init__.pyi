from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int
    def add_session_config_entry(self, key: str, value: str) -> None: ...

class InferenceSession:
    def __init__(self, path: str, options: SessionOptions, *, providers: Sequence[str]) -> None: ...
    def run(
        self, output_names: None, inputs: Mapping[str, NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]: ...
