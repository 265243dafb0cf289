"""Three-vectors, rotations and unit quaternions as tuples of floats: quicker than arrays at this size.

Frames: world is ENU (x east, y north, z up), body is FLU (x forward, y left, z up). A rotation R is a tuple of three
rows and takes body to world; a quaternion (w, x, y, z) is the same rotation. Angles in rad.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Vec: TypeAlias = "tuple[float, float, float]"
Mat: TypeAlias = "tuple[Vec, Vec, Vec]"
Quaternion: TypeAlias = "tuple[float, float, float, float]"

ZERO: Vec = (0.0, 0.0, 0.0)
LEVEL: Quaternion = (1.0, 0.0, 0.0, 0.0)


def add(a: Vec, b: Vec) -> Vec:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec, b: Vec) -> Vec:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: float, a: Vec) -> Vec:
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


def times(a: Vec, b: Vec) -> Vec:
    """diag(a) b."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


def dot(a: Vec, b: Vec) -> float:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Vec) -> float:
    """|a|."""
    return math.sqrt(dot(a, a))


def apply(R: Mat, a: Vec) -> Vec:
    """R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def apply_transposed(R: Mat, a: Vec) -> Vec:
    """R^T a."""
    return add(add(scale(a[0], R[0]), scale(a[1], R[1])), scale(a[2], R[2]))


def transposed(R: Mat) -> Mat:
    """R^T."""
    (a, b, c), (d, e, f), (g, h, i) = R
    return ((a, d, g), (b, e, h), (c, f, i))


def product(P: Mat, Q: Mat) -> Mat:
    """P Q."""
    columns = transposed(Q)
    return (
        (dot(P[0], columns[0]), dot(P[0], columns[1]), dot(P[0], columns[2])),
        (dot(P[1], columns[0]), dot(P[1], columns[1]), dot(P[1], columns[2])),
        (dot(P[2], columns[0]), dot(P[2], columns[1]), dot(P[2], columns[2])),
    )


def rotation(q: Quaternion) -> Mat:
    """R of a unit quaternion."""
    w, x, y, z = q
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion(R: Mat) -> Quaternion:
    """The unit quaternion of R, by the largest of its four components (Shepperd 1978)."""
    (a, b, c), (d, e, f), (g, h, i) = R
    squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)
    best = max(range(4), key=squares.__getitem__)
    s = 2 * math.sqrt(squares[best])
    if best == 0:
        found = (s / 4, (h - f) / s, (c - g) / s, (d - b) / s)
    elif best == 1:
        found = ((h - f) / s, s / 4, (b + d) / s, (c + g) / s)
    elif best == 2:
        found = ((c - g) / s, (b + d) / s, s / 4, (f + h) / s)
    else:
        found = ((d - b) / s, (c + g) / s, (f + h) / s, s / 4)
    return found


def normalised(q: Quaternion) -> Quaternion:
    """q / |q|."""
    length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] / length, q[1] / length, q[2] / length, q[3] / length)


def roll_pitch_yaw(R: Mat) -> Vec:
    """Roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll); pitch in -pi/2..pi/2."""
    return (math.atan2(R[2][1], R[2][2]), math.asin(max(-1.0, min(1.0, -R[2][0]))), math.atan2(R[1][0], R[0][0]))


def from_roll_pitch_yaw(angles: Vec) -> Mat:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = map(math.cos, angles), map(math.sin, angles)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
