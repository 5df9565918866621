// JSON text that becomes far more as objects. Memory.
return JSON.parse('[' + '[],'.repeat(5e6) + '[]]').length;
