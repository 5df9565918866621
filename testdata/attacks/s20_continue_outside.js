// continue without a loop does not find one of the wrapper's. Syntax error.
continue;
