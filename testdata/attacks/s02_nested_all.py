# Built-in functions that consume one another: all, map and range. Ends at the time limit.
return all(map(abs, range(1, 10 ** 15)))
