"""What the server answers: the contract's messages with its names, arrays as NumPy's.

Each class reads a message when it is asked: an answer of which a loop needs one number costs that number.

- Numbers in parallel are arrays; what has three numbers for each entry has the shape `(n, 3)`.
- A `Vec3` is an array of three, a `Pose` is `palpate.Pose`.
- What is missing is None; parallel arrays that are missing are empty.
- An enum's number that this version does not know has the name `UNKNOWN_n`.

answers.pyi beside this file has the fields and what they mean; tools/make_contract.py writes it.
"""

from .views import Answer, classes

globals().update(classes())
__all__ = ["Answer", *classes()]
