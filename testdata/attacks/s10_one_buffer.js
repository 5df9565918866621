// One buffer of two gigabytes. Memory.
return new ArrayBuffer(2 ** 31 - 1).byteLength;
