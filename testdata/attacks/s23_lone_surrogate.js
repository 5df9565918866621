// Half a surrogate pair in the result becomes U+FFFD. Value.
return 'a\ud800b\udc00';
