"""Why a policy's source gave no set of files: it could not be read now, or what it holds cannot be a policy set."""


class SourceUnavailable(Exception):
    """The source cannot be read, or has no such ref, now. It is asked again; the revision in force goes on."""


class SourceRefused(Exception):
    """What the source holds cannot be a policy set (a link, a file too large, an ambiguous ref).

    Mended by a new commit or setting.
    """
