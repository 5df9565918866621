// Bytes that are not UTF-8 inside a comment and a string: replaced or refused, never a crash.
// ÿşÀ€í €
return typeof 'ÿøˆ€';
