"""What the stock OpenTimestamps client and otskit read in proofs: digest, and each end with its message; as JSON."""

import json
import sys

from opentimestamps.core.serialize import StreamDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile
from otskit import proof as kit


def stock(path):
    with open(path, "rb") as file:
        detached = DetachedTimestampFile.deserialize(StreamDeserializationContext(file))
    found = [detached.file_digest.hex()]
    for message, attestation in detached.timestamp.all_attestations():
        end = getattr(attestation, "height", None)
        end = getattr(attestation, "uri", attestation.TAG.hex()) if end is None else end
        found.append([str(end), message.hex()])
    return found


def independent(path):
    with open(path, "rb") as file:
        detached = kit.parse(file.read())
    found = [detached.digest.hex()]
    for one in kit.evidence(detached):
        end = (one.uri or one.tag.hex()) if one.height is None else one.height
        found.append([str(end), one.msg.hex()])
    return found


def read(how, path):
    try:
        digest, *found = how(path)
        return [digest] + sorted(found)
    except (AttributeError, ImportError, NameError, OSError, TypeError):
        raise
    except Exception as fault:
        return type(fault).__name__


json.dump({path: [read(how, path) for how in (stock, independent)] for path in sys.argv[1:]}, sys.stdout)
