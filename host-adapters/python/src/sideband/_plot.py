"""A picture of a result, where matplotlib is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import ArgumentError

if TYPE_CHECKING:
    from ._result import Result


def _choose(listed: list[dict[str, Any]], name: str | None) -> dict[str, Any]:
    """The array of a name, else the first image of the specimen, else the first image."""
    if name is not None:
        found = [array for array in listed if array["name"] == name]
    else:
        images = [array for array in listed if len(array["shape"]) == 2 and not array["detail"]]
        found = [array for array in images if array["axis_unit"][0] == "nm"] or images
    if not found:
        raise ArgumentError(f"There is no array {name or 'to draw'}; the result has "
                            f"{', '.join(array['name'] for array in listed) or 'none'}.")
    return found[0]


def plot(result: Result, name: str | None, axes: Any) -> Any:
    """Draws one array into `axes`, or into new ones."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("Drawing needs matplotlib; install it (pip install matplotlib).") from None
    about = _choose(result.info["arrays"], name)
    image = result.arrays[about["name"]]
    axes = pyplot.figure().gca() if axes is None else axes
    title = f"{about['title']} / {about['unit']}" if about["unit"] else about["title"]
    steps = [step if step is not None else 1.0 for step in about["step"]]
    if image.ndim == 1:
        axes.plot(range(len(image)) if about["step"][0] is None else [i * steps[0] for i in range(len(image))], image)
    else:
        rows, cols = image.shape[:2]
        drawn = axes.imshow(image, cmap="gray", extent=(0, cols * steps[1], rows * steps[0], 0))
        axes.figure.colorbar(drawn, ax=axes)
        axes.set_ylabel(about["axis_unit"][0] or "pixels")
    axes.set_xlabel(about["axis_unit"][-1] or "pixels")
    axes.set_title(title)
    return axes
