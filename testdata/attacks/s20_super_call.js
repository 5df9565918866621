// super is only for methods. Syntax error.
return super.x;
