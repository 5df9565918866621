# One call of a built-in function over a range without an end in sight: no line of the program runs meanwhile. Ends at the time limit.
return sum(range(10 ** 15))
