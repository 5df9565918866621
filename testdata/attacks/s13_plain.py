# Recursion without an end. An error the program sees, no crash.
def f(n):
    return 1 + f(n + 1)
return f(0)
