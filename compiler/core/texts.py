"""The text of a file in UTF-8."""

from codecs import BOM_UTF8

from npuc.compiler.core.errors import Location, NpucError, SourceError


def decoded(data: bytes, filename: str, error: type[NpucError] = SourceError) -> str:
    """The text that bytes hold, without a byte order mark. Raises `error`, with the place, if they are not UTF-8."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        before = data[: e.start].decode()
        line, col = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"found the byte 0x{data[e.start]:02x}, which is not UTF-8"
        raise error(message, location=Location(filename, line, col), hint="expected a text in UTF-8") from None
