// A BigInt beyond any limit: refused.
// Refused with an error, or ended by a limit.
return (1n << (2n ** 40n)) > 0n;
