// Module syntax cannot be in a body. Syntax error.
import x from 'y'; return x;
