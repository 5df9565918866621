# Text of a hundred gigabytes by one multiplication. Memory, or refused.
s = 'x' * 10 ** 11
return len(s)
