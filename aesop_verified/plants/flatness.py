"""Attitude, rates and angular acceleration from a wanted specific force and its derivatives (Mellinger and Kumar 2011).

With f = a + g e3 (and what drag adds), z = f/|f|, y = z x e1 normalised, x = y x z, R = [x y z]: body y stays at right
angles to world x (heading 0 in the order yaw, roll, pitch). Rates and angular acceleration are the skew parts of R^T R'
and of R^T R''. World ENU, body FLU.
"""

from __future__ import annotations

from dataclasses import dataclass

from aesop_verified.plants.vectors import Mat, Vec, add, cross, dot, norm, scale, sub, transposed

_EAST: Vec = (1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class FlatAttitude:
    """What the body has to do.

    Attributes:
        rotation: body to world.
        rates: body frame, rad/s.
        angular_acceleration: body frame, rad/s^2.
    """

    rotation: Mat
    rates: Vec
    angular_acceleration: Vec


def flat_attitude(force: Vec, force_rate: Vec, force_acceleration: Vec) -> FlatAttitude:
    """The attitude with heading 0 whose z axis is along `force`, with its derivatives.

    Args:
        force: specific force wanted, m/s^2, world frame; not 0 and not along world x.
        force_rate, force_acceleration: its derivatives, m/s^3 and m/s^4.

    Raises:
        ZeroDivisionError: when the force is 0 or along world x (free fall, or tilt by 90 degrees).
    """
    z, dz, ddz = _unit(force, force_rate, force_acceleration)
    y, dy, ddy = _unit(cross(z, _EAST), cross(dz, _EAST), cross(ddz, _EAST))
    x = cross(y, z)
    dx = add(cross(dy, z), cross(y, dz))
    ddx = add(add(cross(ddy, z), cross(y, ddz)), scale(2.0, cross(dy, dz)))
    rates = (dot(z, dy), dot(x, dz), dot(y, dx))
    # R^T R'' = [w]x [w]x + [w']x: the first term is symmetric, so the skew part is [w']x.
    acceleration = (
        0.5 * (dot(z, ddy) - dot(y, ddz)), 0.5 * (dot(x, ddz) - dot(z, ddx)), 0.5 * (dot(y, ddx) - dot(x, ddy)),
    )  # fmt: skip
    return FlatAttitude(transposed((x, y, z)), rates, acceleration)


def _unit(n: Vec, dn: Vec, ddn: Vec) -> tuple[Vec, Vec, Vec]:
    """u = n/L with its derivatives: n' = L'u + L u', n'' = L''u + 2 L'u' + L u''."""
    length = norm(n)
    u = scale(1 / length, n)
    dlength = dot(u, dn)
    du = scale(1 / length, sub(dn, scale(dlength, u)))
    ddlength = dot(du, dn) + dot(u, ddn)
    ddu = scale(1 / length, sub(ddn, add(scale(2 * dlength, du), scale(ddlength, u))))
    return u, du, ddu
