"""Finds the primes below a limit and leaves two results for who comes next."""
import os

LIMIT = int(os.environ.get("LIMIT", "100000"))

sieve = bytearray([1]) * LIMIT
sieve[0:2] = b"\0\0"
for n in range(2, int(LIMIT**0.5) + 1):
    if sieve[n]:
        sieve[n * n :: n] = bytes(len(range(n * n, LIMIT, n)))

primes = [n for n in range(LIMIT) if sieve[n]]
print(f"looked at {LIMIT} numbers on attempt {os.environ['RAMET_ATTEMPT']}")

# What is written here becomes the job's result.
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"count={len(primes)}\n")
    result.write(f"largest={primes[-1]}\n")
