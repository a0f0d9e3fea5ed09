"""Every file of a package that is no module is installed with it."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = (".py", ".pyc")


def test_files_that_are_no_modules_are_data_of_their_package() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders: dict[str, str] = tool["package-dir"]
    data: dict[str, list[str]] = tool["package-data"]
    left: list[str] = []
    for package, folder in folders.items():
        known = {
            Path(folder, *name.removeprefix(package).strip(".").split(".")) / pattern
            for name, patterns in data.items()
            if name == package or name.startswith(f"{package}.")
            for pattern in patterns
        }
        for file in (ROOT / folder).rglob("*"):
            path = file.relative_to(ROOT)
            if file.is_file() and file.suffix not in CODE and "__pycache__" not in path.parts:
                if not any(len(one.parts) == len(path.parts) and fnmatch(str(path), str(one)) for one in known):
                    left.append(str(path))
    assert left == []
