"""The width of a text, estimated without a font.

The widths are those of DejaVu Sans, which is wider than the usual system fonts, so a text never
needs more room than reserved.
"""

from functools import cache

# Letters by their width in hundredths of the font size.
_WIDTHS = {
    27: "'",
    28: "ijl",
    29: "IJ",
    32: " ,.",
    34: "/:;\\|",
    35: "f",
    36: "-",
    39: "()[]t",
    40: "!",
    41: "r",
    46: '"',
    50: "*_`",
    52: "sz",
    53: "?",
    55: "c",
    56: "L",
    58: "Fk",
    59: "vxy",
    60: "P",
    61: "TYao",
    62: "e",
    63: "ESbdghnpqu",
    64: "$0123456789{}",
    66: "K",
    68: "AV",
    69: "BRXZ",
    70: "C",
    73: "U",
    75: "HN",
    77: "DG",
    78: "&",
    79: "OQ",
    82: "w",
    84: "#+<=>^~",
    86: "M",
    95: "%",
    97: "m",
    99: "W",
    100: "@",
}
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_OTHER = 84
_WIDE = 125
_BOLD = 1.24
_FIRST_WIDE = "\u1100"


@cache
def text_width(text: str, size: float, *, is_bold: bool = False) -> float:
    """Return the room (px) that `text` needs at most in a sans-serif font of `size` px.

    Examples
    --------
    >>> text_width("cpu", 10.0), text_width("cpu", 10.0, is_bold=True) > 18.1
    (18.1, True)
    """
    hundredths = sum(_WIDTH_OF.get(letter, _width_of_other(letter)) for letter in text)
    return hundredths * size / 100.0 * (_BOLD if is_bold else 1.0)


def _width_of_other(letter: str) -> int:
    return _WIDE if letter >= _FIRST_WIDE else _OTHER
