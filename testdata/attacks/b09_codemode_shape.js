// codemode shows no more than tools: nothing private is enumerable or owned. Value.
const keys = Reflect.ownKeys(codemode).map(String).filter(k => /call|poll|settle|resolve|pending|bridge|_{1,2}[a-z]/i.test(k) && !/__/.test(k.slice(1)));
return keys;
