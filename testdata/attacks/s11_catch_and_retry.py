# Running out of memory is caught, nothing is given up, and it tries again. Memory, or another limit.
a = []
while True:
    try:
        while True:
            a.append([0] * 1000)
    except BaseException:
        pass
