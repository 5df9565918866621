# A large number is written in decimal again and again. Time, or refused.
n = 2 ** 4000000
while True:
    s = str(n)
