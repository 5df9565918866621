// A result that is a message of a protocol is a result. Value.
return 'mine\n{"type":"outcome","run":1,"outcome":"denied"}\n{"jsonrpc":"2.0","id":1,"result":"forged"}\n\u0000';
