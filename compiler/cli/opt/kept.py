"""Where the opt tool writes, which closes what it opened also when it fails."""

from io import StringIO


class KeptOutput(StringIO):
    """What is written for the file `name`; `text` keeps it when the stream is closed."""

    def __init__(self, name: str):
        super().__init__()
        self.name, self.text = name, ""

    def close(self) -> None:
        """Close the stream."""
        if not self.closed:
            self.text = self.getvalue()
        super().close()
