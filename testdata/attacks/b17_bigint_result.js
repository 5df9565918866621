// A BigInt as the result is a number with all its digits, or is refused. Value.
return 2n ** 64n + 1n;
