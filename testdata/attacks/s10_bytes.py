# Bytes and a list of ten thousand million zeros in one operation. Memory, or refused.
a = [0] * 10 ** 10
return len(a) + len(bytes(10 ** 10))
