// An import declaration is not the body of a function. Nothing loads: error.
import * as std from 'std';
return std;
