// An array proxy of nearly endless length.
// Refused with an error, or ended by a limit.
return new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 53 - 1 : undefined });
