// An error that reaches the host: its report names nothing of the machine. Error.
(function innermost() { throw new TypeError('thrown to the host'); })();
