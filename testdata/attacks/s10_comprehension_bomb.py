# A comprehension that makes a million lists of a million numbers. Memory.
return len([[0] * 1000000 for i in range(1000000)])
