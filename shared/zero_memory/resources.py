"""Where the files that come with the package lie."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

MODEL_FOLDERS = (
    _PACKAGE.parents[1] / "layers" / "embedding" / "model",  # a checkout
    _PACKAGE / "deployment" / "model",  # an installed wheel
    Path("/opt/embedding/model"),  # a Lambda layer
)


def model_folder() -> Path:
    """The folder of the embedding model.

    Raises FileNotFoundError when this installation came without it.
    """
    for folder in MODEL_FOLDERS:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "The embedding model is missing: run layers/embedding/fetch.sh in a checkout, "
        "or install the package from its wheel."
    )
