// The shortest way to hang a plain build: four billion holes joined with nothing. The outer stop ends it.
return new Array(2 ** 32 - 1).join('').length;
