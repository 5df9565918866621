// Array.prototype.slice into a plain object on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
return Array.prototype.slice.call(new Proxy([], { get: (t, k) => k === "length" ? 2 ** 53 - 1 : k === "constructor" ? { [Symbol.species]: Object } : undefined })).length;
