# A power of a hundred million digits, in one operation that nobody interrupts. Time, memory or refused.
n = 10 ** 10 ** 8
return n % 7
