"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").
"""

from uptack import engines, errors, noise, privacy
from uptack.errors import InvalidArgument, NoReplyError, UptackError
from uptack.noise import SeededEntropy, SystemEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, RandomPrivacy
from uptack.release import Advice, NoReply, Release

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Advice",
    "InvalidArgument",
    "NoReply",
    "NoReplyError",
    "Privacy",
    "RandomPrivacy",
    "Release",
    "SeededEntropy",
    "SystemEntropy",
    "UptackError",
    "engines",
    "errors",
    "noise",
    "privacy",
]
