// NUL, U+2028 and DEL survive in the result. Value.
return 'a\u0000\u2028\u2029\u007f\u0080b';
