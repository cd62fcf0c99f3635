"""Includes the server program and the C library in the wheel of `deploy/package`. Any other wheel is pure Python."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IncludeProgram(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        program = os.environ.get("WHEEL_PROGRAM")
        if program and version == "standard":
            build_data["pure_python"] = False
            # `deploy/package` replaces the platform with the one that auditwheel finds.
            build_data["tag"] = "py3-none-linux_x86_64"
            build_data["shared_scripts"][program] = "palpate"
            build_data["force_include"][os.environ["WHEEL_LIBRARY"]] = "palpate/libpalpate_c.so"
