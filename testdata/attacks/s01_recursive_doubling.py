# Not a loop at all: 2^60 calls at depth 60. Ends at the time limit.
def f(n):
    return 1 if n == 0 else f(n - 1) + f(n - 1)
return f(60)
