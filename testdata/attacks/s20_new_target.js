// new.target is only for functions that can be constructed: refused by one wrapper at least. Syntax error.
return new.target;
