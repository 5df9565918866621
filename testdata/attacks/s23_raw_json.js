// JSON.rawJSON in the result is valid JSON in any case, or refused. Value.
if (!JSON.rawJSON) return 1;
return [JSON.rawJSON('1'), 2];
