// Writes sandbox/testdata/en-us.json: what Node 20 says of numbers, dates and the order of text in en-US and UTC, as a
// table of expressions and JSON:
//
//	TZ=UTC LC_ALL=en_US.UTF-8 node guest/en_us.mjs > sandbox/testdata/en-us.json

let seed = 20;
const below = n => (seed = Math.imul(seed, 1103515245) + 12345 >>> 0, (seed >>> 8) % n);
const one = list => list[below(list.length)];
const options = (table, odds) => JSON.stringify(Object.fromEntries(Object.entries(table).filter(() => below(10) < odds).map(([k, v]) => [k, one(v)])));
const cases = new Set();

const numbers = ['0', '-0', '1', '999.5', '1000', '-1234567.891', '0.1234', '1.005', '2.5', '1e21', '1.5e-7', '1/0', 'NaN', '12345678901234567890n', '-5n', '99.95', '9999'];
const number = { minimumFractionDigits: [0, 1, 2], maximumFractionDigits: [2, 3, 5], useGrouping: [true, false, 'min2'], signDisplay: ['always', 'never', 'exceptZero'], minimumIntegerDigits: [2, 4], style: ['percent', 'decimal'], notation: ['compact', 'standard'] };
const money = { minimumFractionDigits: [0], currencyDisplay: ['code', 'symbol'], currencySign: ['accounting'] };
for (let i = 0; i < 250; i++) {
  cases.add(`(${one(numbers)}).toLocaleString(${one(['"en-US"', 'undefined', '"en"'])}, ${options(number, 3)})`);
  if (i % 2) cases.add(`(${one(numbers)}).toLocaleString("en-US", {"style":"currency","currency":"${one(['USD', 'EUR', 'JPY', 'CHF', 'KWD', 'ABC'])}",${options(money, 4).slice(1)})`.replace(',}', '}'));
}

const times = ['0', '1704724507089', '1709164800000', '946684799999', '-62167219200000', '1893499200000', '1704675600000'];
const date = { weekday: ['long', 'short', 'narrow'], year: ['numeric', '2-digit'], month: ['numeric', '2-digit', 'long', 'short', 'narrow'], day: ['numeric', '2-digit'] };
const time = { hour: ['numeric', '2-digit'], minute: ['numeric', '2-digit'], second: ['numeric', '2-digit'], hour12: [true, false], hourCycle: ['h23', 'h12'], timeZoneName: ['short', 'long'], timeZone: ['UTC'] };
const style = { dateStyle: ['full', 'long', 'medium', 'short'], timeStyle: ['full', 'long', 'medium', 'short'], hour12: [false] };
const odd = o => { o = JSON.parse(o); return o.year && o.day && !o.month || o.weekday && !o.day && (o.year || o.month) || o.hour && !o.minute && (o.second || o.timeZoneName); };
for (let i = 0; i < 5000 && cases.size < 900; i++) {
  const o = one([options(date, 6), options(time, 5), options({ ...date, ...time }, 5), options(style, 6)]);
  if (!odd(o)) cases.add(`new Date(${one(times)}).${one(['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'])}("en-US", ${o})`);
}

const words = ['', 'a', 'A', 'b', 'B', 'ä', 'Ä', 'apfel', 'Äpfel', 'Zebra', 'zebra', 'straße', 'strasse', 'cote', 'coté', 'côte', 'côté', 'œuvre', 'oeuvre', 'ñandú', 'nandu', 'łódź', 'lodz', 'Øre', 'ore', 'æon', 'aeon', 'item 9', 'item 10', 'item-9', 'item_9',
  'Item 9', 'v1.10', 'v1.9', '€5', '$5', '5', '10', '02', '2', '#1', '(a)', '"a"', '“a”', "O'Neil", 'ONeil', 'new york', 'New York', 'newyork', 'a b', 'ab', 'Ёлка', 'елка', 'йод', 'иод', 'яблоко', 'Ωmega', 'ω', 'αβγ', 'ς', 'σ', '🐛', '✨', 'ﬁn', 'fin', 'm²', 'm2', '가', '각', '나', '漢', '字', 'e\u0301', 'é'];
const order = { numeric: [true, false], sensitivity: ['base', 'accent', 'case', 'variant'] };
for (let i = 0; i < 5000 && cases.size < 1500; i++) cases.add(`${JSON.stringify(one(words))}.localeCompare(${JSON.stringify(one(words))}${one(['', ', "en-US", ' + options(order, 6), ', undefined, ' + options(order, 6), ', "de"', ', "fr-FR"'])})`);

const row = e => {
  try {
    const v = eval(e);
    return [e, typeof v === 'number' ? Math.sign(v) : v];
  } catch (x) {
    return [e, { throws: x.name }];
  }
};
console.log('[\n' + [...cases].map(e => JSON.stringify(row(e))).join(',\n') + '\n]');
