"""Write a model as an ONNX file.

The file runs without Python, in onnxruntime and other runtimes, and gives the probabilities that the model
gives. A model of tables has an input for each column: numbers, or texts where the column holds categories.

example: properly export model.skops -o model.onnx
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import properly
from properly.cli.arguments import Arguments, check_output, checked, file_ending, read_key, whole
from properly.cli.predict import load_model
from properly.files import FilePath, atomic_path
from properly.inputs.optional import require


def add_arguments(add: Arguments) -> None:
    add("model")
    add("-o --output FILE")
    add("--key-file FILE")
    add("--max-bytes N")


@checked(output=file_ending(".onnx"), max_bytes=whole(1))
def export_model(
    model: FilePath, *, output: FilePath | None = None, key_file: FilePath | None = None, max_bytes: int | None = None
) -> dict[str, Any]:
    """Write a saved model as an ONNX file, as ``properly export`` does.

    Parameters
    ----------
    model : path
        A model file of properly fit or calibrate, or of properly.save.
    output : path, optional
        The ONNX file to write; if it is not given, NAME.onnx, after the name of the model, in the working folder.
    key_file : path, optional
        The file with the secret with which the model was saved; a model that was altered, or saved without it, is an
        error.
    max_bytes : int, optional
        How large the model may be when unpacked; if it is not given, 100 MB or 20 times the size of its file.

    Returns
    -------
    dict
        The "output" file, its "inputs" (a type for each name), its "outputs", and the "opset" that it needs.
    """
    output = f"{Path(model).stem}.onnx" if output is None else str(output)
    check_output(output, inputs=[model])
    try:
        graph = properly.onnx.to_onnx(load_model(model, read_key(key_file), max_bytes))
    except NotImplementedError as error:
        raise ValueError(f"{model}: {error}") from error
    with atomic_path(output) as temporary:
        temporary.write_bytes(graph.SerializeToString())
    names = require("onnx", "onnx").TensorProto.DataType.Name
    inputs = {each.name: names(each.type.tensor_type.elem_type).lower() for each in graph.graph.input}
    opsets = {each.domain or "ai.onnx": each.version for each in graph.opset_import}
    return {"output": output, "inputs": inputs, "outputs": [each.name for each in graph.graph.output], "opset": opsets}


def show(summary: dict[str, Any], console: Any) -> None:
    """The inputs and outputs, and where the file is."""
    inputs = ", ".join(f"{name} ({kind})" for name, kind in summary["inputs"].items())
    console.print(f"Inputs:  {inputs}\nOutputs: {', '.join(summary['outputs'])}\n\nModel: {summary['output']}")


run = export_model
