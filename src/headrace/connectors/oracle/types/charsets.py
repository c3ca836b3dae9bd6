"""Oracle's character sets, by the names of Python's codecs."""

from __future__ import annotations

from headrace.errors import HeadraceError

CESU = "cesu-8"
"""UTF8: characters beyond the basic plane are two surrogates of three bytes each."""
_CODECS = {
    "AL32UTF8": "utf-8", "UTF8": CESU, "AL16UTF16": "utf-16-be", "AL16UTF16LE": "utf-16-le",
    "US7ASCII": "ascii",
    "WE8ISO8859P1": "iso8859-1", "WE8ISO8859P9": "iso8859-9", "WE8ISO8859P15": "iso8859-15",
    "EE8ISO8859P2": "iso8859-2", "SE8ISO8859P3": "iso8859-3", "NEE8ISO8859P4": "iso8859-4",
    "CL8ISO8859P5": "iso8859-5", "AR8ISO8859P6": "iso8859-6", "EL8ISO8859P7": "iso8859-7",
    "IW8ISO8859P8": "iso8859-8", "NE8ISO8859P10": "iso8859-10", "BLT8ISO8859P13": "iso8859-13",
    "CEL8ISO8859P14": "iso8859-14",
    "EE8MSWIN1250": "cp1250", "CL8MSWIN1251": "cp1251", "WE8MSWIN1252": "cp1252",
    "EL8MSWIN1253": "cp1253", "TR8MSWIN1254": "cp1254", "IW8MSWIN1255": "cp1255",
    "AR8MSWIN1256": "cp1256", "BLT8MSWIN1257": "cp1257", "VN8MSWIN1258": "cp1258",
    "US8PC437": "cp437", "WE8PC850": "cp850", "EE8PC852": "cp852", "RU8PC866": "cp866",
    "CL8KOI8R": "koi8-r", "CL8KOI8U": "koi8-u", "TH8TISASCII": "tis-620",
    "JA16SJIS": "cp932", "JA16SJISTILDE": "cp932", "JA16EUC": "euc-jp", "JA16EUCTILDE": "euc-jp",
    "KO16KSC5601": "euc-kr", "KO16MSWIN949": "cp949",
    "ZHS16CGB231280": "gb2312", "ZHS16GBK": "gbk", "ZHS32GB18030": "gb18030",
    "ZHT16BIG5": "big5", "ZHT16MSWIN950": "cp950", "ZHT16HKSCS": "big5hkscs",
}  # fmt: skip


def codec_of(name: str) -> str:
    """Return the codec of a character set; an unknown one keeps Oracle's name."""
    return _CODECS.get(name, name)


def is_known(name: str) -> bool:
    """Whether texts of a character set can be read."""
    return name in _CODECS


def decoded(raw: bytes, codec: str) -> str | None:
    """Return the text of bytes in a codec of `codec_of`; None if the bytes are not valid in it.
    Raises HeadraceError("oracle.character_set") for an unknown character set."""
    try:
        if codec != CESU:
            return raw.decode(codec)
        units = raw.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass")
        return units.decode("utf-16-be")
    except UnicodeDecodeError:
        return None
    except LookupError:
        raise HeadraceError(
            "oracle.character_set",
            f"The redo has bytes of a text in the character set {codec}, which is not known here",
            "Leave the column out (column.exclude.list), or report the character set.",
        ) from None
