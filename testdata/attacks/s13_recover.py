# Recursion without an end is caught a hundred times, and the program still computes. Value, or the first one ends it.
def f(n):
    return 1 + f(n + 1)
n = 0
for i in range(100):
    try:
        f(0)
    except RecursionError:
        n = n + 1
return n
