"""Simulated plants: what the loop's inputs act on, and what its measurements come from."""

from aesop_verified.plants.model import ModelPlant

__all__ = ["ModelPlant"]
