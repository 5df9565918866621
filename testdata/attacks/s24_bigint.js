// A BigInt is thrown. Error, ends.
throw 2n ** 70n;
