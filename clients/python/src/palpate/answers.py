"""Answers of the server: the contract's messages under their names, with NumPy arrays.

Each class reads a field of its message on first access: a loop that needs one number of an answer
pays for that number only.

- Parallel numbers are arrays; a field with three numbers per entry has the shape `(n, 3)`.
- A `Vec3` is an array of three, a `Pose` is `palpate.Pose`.
- Missing values are None; missing parallel arrays are empty.
- An enum number that this version does not know has the name `UNKNOWN_n`.

answers.pyi beside this file lists the fields and their meaning; tools/make_contract.py writes it.
"""

from .views import Answer, classes

globals().update(classes())
__all__ = ["Answer", *classes()]
