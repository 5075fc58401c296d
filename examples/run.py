"""Execute the notebooks of this folder and store their outputs in them.

``python examples/run.py`` executes all, ``python examples/run.py quickstart`` one. ``--quick`` uses
the small parameters in the metadata of their cells and stores nothing: does it still work?
"""

from __future__ import annotations

import argparse
import base64
from io import BytesIO
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent
LONGEST = 1200  # seconds for one cell


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the example notebooks.")
    parser.add_argument("names", nargs="*", help="such as quickstart; all unless given")
    parser.add_argument("--quick", action="store_true", help="small parameters, nothing is stored")
    arguments = parser.parse_args()
    for name in arguments.names or [path.stem for path in sorted(HERE.glob("*.ipynb"))]:
        path = HERE / f"{name}.ipynb"
        print(f"{path.name} ...", flush=True)
        notebook = execute(path, quick=arguments.quick)
        if not arguments.quick:
            nbformat.write(tidied(notebook), path)


def execute(path: Path, *, quick: bool = False) -> nbformat.NotebookNode:
    """Run a notebook in its own folder; an error in a cell is raised.

    With `quick`, the values in the metadata of cells tagged ``parameters`` replace those in them.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if quick and "parameters" in cell.metadata.get("tags", ()):
            small = [f"{name} = {value!r}" for name, value in cell.metadata["quick"].items()]
            cell.source = "\n".join([cell.source, *small])
    client = NotebookClient(
        notebook,
        timeout=LONGEST,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
    )
    client.execute()
    return notebook


def tidied(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what depends on the machine it ran on, and with small pictures."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", ()):
                output.data["image/png"] = _small(output.data["image/png"])
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _small(encoded: str) -> str:
    """A picture with 256 colours: a third of the size, and it looks the same."""
    sink = BytesIO()
    with Image.open(BytesIO(base64.b64decode(encoded))) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(sink, format="png", optimize=True)
    return base64.b64encode(sink.getvalue()).decode()


if __name__ == "__main__":
    main()
