// Parameters that close the parameter list must not smuggle code into the constructor. A syntax error.
return Function('a) { globalThis.pwned = 1; }; (function (b', '')();
