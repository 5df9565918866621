// split with an expression that reads to the end at each place. Ends at the time limit.
return 'a'.repeat(1e6).split(/a*b/).length;
