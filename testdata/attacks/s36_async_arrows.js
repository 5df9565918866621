// async and parentheses that may be a call or an arrow function, thirty deep. Value, or refused.
const async = x => x;
const f = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = async (a = 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1) => 1;
return typeof f;
