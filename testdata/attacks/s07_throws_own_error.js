// A syntax error in eval is an ordinary error of the program. Error.
eval('}');
