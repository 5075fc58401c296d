"""Exact binomial counts, in time that grows with the logarithm of the number of coins.

A big matrix of counts is mostly zeros, and the noise of its zero cells is needed only as a
histogram: how many cells drew 0, how many drew 1, … These numbers are binomial. Drawing them with
floating-point probabilities would only approximate the distribution; here it is exact.

* Bin(n, ½) for small n counts random bits. For large n it is drawn by rejection from a discrete
  Laplace. The acceptance probability is computed in floating point with an error bound, and only
  when the random number falls inside the bound (about once in 10⁹ draws) in exact arithmetic.
* Bin(n, p) looks at the coins' uniform numbers bit by bit beside the binary digits of p: at each
  digit half of the undecided coins are settled, so about log₂ n fair binomials are enough.
* The digits of p = exp(−a/b) come from an integer Taylor series with an enclosure, as many as
  are needed.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from psgraph.privacy.samplers import Sampler

__all__ = ["BinaryDigits", "binomial", "enclose_exp", "fair_binomial"]

_COUNT_BITS_UP_TO = 1 << 14
_RELATIVE_ERROR = 1e-9  # of the float acceptance probability; the true error is below 1e-12


class BinaryDigits:
    """The binary digits of p = exp(−rate), or of 2p/(1+p), one at a time.

    >>> digits = BinaryDigits(Fraction(1))
    >>> [digits[i] for i in range(8)]     # 0.01011110… = 0.3679
    [0, 1, 0, 1, 1, 1, 1, 0]
    """

    def __init__(self, rate: Fraction, *, odds: bool = False) -> None:
        self.rate, self.odds = rate, odds
        self._refine(256)

    def _refine(self, precision: int) -> None:
        low, high = enclose_exp(self.rate, precision)
        one = 1 << precision
        if self.odds:
            low = 2 * low * one // (one + low)
            high = -(-2 * high * one // (one + high))
        self._precision, self._low = precision, low
        # The digits both ends agree on are digits of the number itself.
        self._known = precision - (low ^ high).bit_length()

    def __getitem__(self, index: int) -> int:
        while index >= self._known:
            self._refine(2 * self._precision)
        return self._low >> (self._precision - 1 - index) & 1


def enclose_exp(rate: Fraction, precision: int) -> tuple[int, int]:
    """Integers with low ≤ exp(−rate)·2^precision ≤ high."""
    # exp(−x) = exp(−x/2^s)^(2^s) with x/2^s ≤ 1, where the alternating series closes in.
    squarings = max(0, math.ceil(rate).bit_length())
    guard = precision + 2 * squarings + 32
    one = 1 << guard
    numerator, denominator = rate.numerator, rate.denominator << squarings
    low = high = one
    term_low = term_high = one
    index = 0
    while term_high > 1:
        index += 1
        term_low = term_low * numerator // (denominator * index)
        term_high = -(-term_high * numerator // (denominator * index))
        if index % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = max(low - 2, 0), high + 2  # the rest of an alternating series is below its term
    for _ in range(squarings):
        low, high = low * low >> guard, -(-high * high >> guard)
    shift = guard - precision
    return low >> shift, min(-(-high >> shift), 1 << precision)


def fair_binomial(sampler: Sampler, n: int) -> int:
    """How many of `n` fair coins show heads."""
    source = sampler.source
    if n <= _COUNT_BITS_UP_TO:
        return source.bits(n).bit_count()
    if n % 2:
        return fair_binomial(sampler, n - 1) + source.bits(1)
    # With h = n/2: C(n, h+k)/C(n, h) ≤ exp(−k²/2h), so against a discrete Laplace of scale s
    # the ratio is at most exp(h/2s²), and dividing by that makes a probability of it.
    half = n // 2
    scale = math.isqrt(half)
    while True:
        k = abs(offset := int(sampler.discrete_laplace(1, Fraction(1, scale))[0]))
        draw = source.bits(53)
        if k <= half // 2:
            x = k / half
            log_ratio = (
                -(half + 0.5) * math.log1p(-x * x)
                - 2 * k * math.atanh(x)
                + (1 / (6 * half) - 1 / (12 * (half + k)) - 1 / (12 * (half - k)))
            )
            chance = math.exp(log_ratio + k / scale - half / (2 * scale * scale)) * 2.0**53
            if draw + 1 < chance * (1 - _RELATIVE_ERROR):
                return half + offset
            if draw > chance * (1 + _RELATIVE_ERROR):
                continue
        if k <= half and _accept_exactly(sampler, draw, half=half, k=k, scale=scale):
            return half + offset


def _accept_exactly(sampler: Sampler, draw: int, *, half: int, k: int, scale: int) -> bool:
    """Settle a close case: is the uniform number, extended as needed, below the chance?"""
    bits, digits = 53, 60
    while True:
        with localcontext() as context:
            context.prec = digits
            ratio = Decimal(1)
            for i in range(1, k + 1):
                ratio *= Decimal(half - i + 1) / Decimal(half + i)
            exponent = Decimal(k) / scale - Decimal(half) / (2 * scale * scale)
            chance = ratio * exponent.exp() * Decimal(2) ** bits
            slack = chance * Decimal(10) ** (12 - digits)  # 3k + 5 roundings of 10^-digits each
            if draw + 1 <= chance - slack:
                return True
            if draw >= chance + slack:
                return False
        draw, bits, digits = draw << 64 | sampler.source.bits(64), bits + 64, digits + 40


def binomial(sampler: Sampler, n: int, digits: BinaryDigits) -> int:
    """How many of `n` coins with the given probability show heads."""
    heads = index = 0
    while n:
        ones = fair_binomial(sampler, n)
        # A coin shows heads when its uniform number is below p. Where p has the digit 1, those
        # with a 0 are below and settled; where p has a 0, those with a 1 are above and settled.
        if digits[index]:
            heads, n = heads + n - ones, ones
        else:
            n -= ones
        index += 1
    return heads
