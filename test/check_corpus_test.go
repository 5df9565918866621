package codemode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
)

// Programs that run well, in many ways to write them.
var goodPrograms = []string{
	// A server, or codemode itself, as a value.
	"const f = async t => t.now({}); return f(codemode.time)",
	"const f = async ({now}) => now({}); return f(codemode.time)",
	"const {now, ...rest} = codemode.time; return [await now({}), Object.keys(rest)]",
	"const {time, ...rest} = codemode; return [await time.now({}), typeof rest]",
	"const {time: {now, ...others}} = codemode; return [await now({}), 'convert' in others]",
	"const [t] = [codemode.time]; return t.now({})",
	"const servers = {clock: codemode.time, files: codemode.filesystem}; return servers.clock.now({})",
	"const servers = [codemode.time]; for (const s of servers) await s.now({}); return 1",
	"const m = new Map([['t', codemode.time]]); return m.get('t').now({})",
	"let s = codemode.time; if (Date.now() < 0) s = codemode.filesystem; return s.now({})",
	"const s = Date.now() < 0 ? codemode.filesystem : codemode.time; return s.now({})",
	"const s = codemode.nothing || codemode.time; return s.now({})",
	"const s = codemode.time ?? codemode.nothing; return s.now({})",
	"class Clock { constructor(t) { this.t = t } now() { return this.t.now({}) } } return new Clock(codemode.time).now()",
	"class Clock { t = codemode.time; now() { return this.t.now({}) } } return new Clock().now()",
	"const get = () => codemode.time; return get().now({})",
	"function get() { return codemode.time } return get().now({})",
	"function* all() { yield codemode.time; yield* [codemode.time] } for (const t of all()) await t.now({}); return 1",
	"const f = (t = codemode.time) => t.now({}); return f()",
	"const f = async (c) => c.time.now({}); return f(codemode)",
	"return Reflect.get(codemode.time, 'now')({})",
	"return Object.is(codemode.time, codemode.time)",
	"return [typeof codemode.nothing, 'nothing' in codemode, !codemode.nothing, codemode.nothing === undefined]",
	"const {nothing = null} = codemode; return typeof nothing",
	"return String(typeof codemode.time) + (codemode.time?.now ? 1 : 2)",
	"console.log(typeof codemode.time); return await Promise.resolve(codemode.time).then(t => t.now({}))",
	"const t = await codemode.time; return t.now({})",
	"globalThis.t = codemode.time; return globalThis.t.now({})",
	"var o = {}; o.t = codemode.time; return o.t.now({})",
	"const {time} = codemode; const t = time; return (await Promise.all([t, t].map(x => x.now({})))).length",
	"return (async function () { return this.now({}) }).call(codemode.time)",
	"const t = Object.assign({}, {t: codemode.time}); return t.t.now({})",
	"namespace N { export const t = codemode.time } return N.t.now({})",

	// A function of the host as a value.
	"const f = s => s('time'); return (await f(codemode.search_tools)).length",
	"const {search_tools, ...rest} = codemode; return (await search_tools('time')).length",
	"return (await Promise.all(['time', 'files'].map(codemode.search_tools))).length",
	"return (await Promise.all(['time'].map(x => codemode.search_tools(x)))).length",
	"const tools = {find: codemode.search_tools, show: codemode.get_tools}; return (await tools.find('time')).length",
	"const read = codemode.read_resource; return typeof read",

	// A tool that is looked at, and not called.
	"const f = codemode.nothing__here; return typeof f",
	"const {nothing__here} = codemode; return typeof nothing__here",
	"const {nothing__here = null, time__now} = codemode; return time__now({})",
	"return typeof codemode.nothing__here",
	"const tools = {a: codemode.nothing__here, b: codemode.time__now}; return tools.b({})",
	"const tools = [codemode.time__now, codemode.nothing__here]; return tools[0]({})",
	"const f = Date.now() < 0 ? codemode.nothing__here : codemode.time__now; return f({})",
	"const f = codemode.filesystem__delete_file, g = codemode.time__now; return (Date.now() < 0 ? f : g)({})",
	"const {filesystem__delete_file: remove, time__now: now} = codemode; return now({})",

	// A tool as a value that is called.
	"return Promise.all([{}, {}].map(codemode.time__now))",
	"const f = (g, x) => g(x); return f(codemode.time__now, {})",
	"const f = codemode.time__now; return f.call(null, {})",
	"return codemode.time.now.apply(null, [{}])",
	"return codemode.time__now.bind(null)({})",
	"return Function.prototype.call.call(codemode.time__now, null, {})",
	"return Reflect.apply(codemode.time__now, null, [{}])",
	"const f = codemode['time' + '__' + 'now']; return f({})",
	"const k = 'now'; return codemode.time[k]({})",
	"let k = 'nothing__here'; k = 'time__now'; return codemode[k]({})",
	"let k = 'time__no'; k += 'w'; return codemode[k]({})",
	"for (const k of ['time__now']) await codemode[k]({}); return 1",
	"const T = {now: 'nothing__here'}; T.now = 'time__now'; return codemode[T.now]({})",
	"enum T { Now = 'time__now' }\nreturn codemode[T.Now]({})",
	"((codemode) => codemode.nothing__here())({nothing__here() {}}); return 1",
	"const timezone = undefined; return codemode.time__now({timezone})",

	// Arguments that are not what they look like.
	"const o = {}; o.path = '.'; return codemode.filesystem__list_directory(o)",
	"const o: any = {x: 1}; delete o.x; o.path = '.'; return codemode.filesystem__list_directory(o)",
	"const o = {}; Object.assign(o, {path: '.'}); return codemode.filesystem__list_directory(o)",
	"const o = {}, p = o; p.path = '.'; return codemode.filesystem__list_directory(o)",
	"let o = {}; o = {path: '.'}; return codemode.filesystem__list_directory(o)",
	"const o = {}; o['pa' + 'th'] = '.'; return codemode.filesystem__list_directory(o)",
	"const o = {}; ({path: o.path} = {path: '.'}); return codemode.filesystem__list_directory(o)",
	"const o = {}; for (o.path of ['.']) await codemode.filesystem__list_directory(o); return 1",
	"const o = {path: 1}; with_(o); function with_(x) { x.path = '.' } return codemode.filesystem__list_directory(o)",
	"const o = {path: 7}; [o].forEach(x => { x.path = '.' }); return codemode.filesystem__list_directory(o)",
	"const o = {path: 7}; o.path += ''; o.path = '.'; return codemode.filesystem__list_directory(o)",
	"const o = {path: 1, q: {}}; const {q} = o; o.path = '.'; delete o.q; return codemode.filesystem__list_directory(o)",
	"class A { path = '.' } return codemode.filesystem__list_directory(new A())",
	"return codemode.filesystem__list_directory({toJSON() { return {path: '.'} }})",
	"return codemode.filesystem__list_directory({toJSON: () => ({path: '.'})})",
	"return codemode.filesystem__list_directory({x: 1, toJSON: () => ({path: '.'})})",
	"return codemode.filesystem__list_directory({path: {toJSON: () => '.'}})",
	"const toJSON = () => ({path: '.'}); return codemode.filesystem__list_directory({toJSON})",
	"return codemode.filesystem__list_directory({path: new String('.')})",
	"return codemode.filesystem__list_directory({path: ['.'].join('')})",
	"return codemode.filesystem__list_directory({path: '.', extra: undefined})",
	"return codemode.filesystem__list_directory({get path() { return '.' }})",
	"return codemode.filesystem__list_directory({__proto__: {x: 1}, path: '.'})",
	"return codemode.filesystem__list_directory({path: 1, ...{path: '.'}})",
	"return codemode.filesystem__list_directory({path: 1, ['path']: '.'})",
	"return codemode.filesystem__list_directory(...[{path: '.'}])",
	"const f = (o = {path: 1}) => codemode.filesystem__list_directory(o); return f({path: '.'})",
	"const f = ({path} = {path: 1}) => codemode.filesystem__list_directory({path}); return f({path: '.'})",
	"var path = 1; { let path = '.'; return codemode.filesystem__list_directory({path}) }",
	"var path = 1; var path = '.'; return codemode.filesystem__list_directory({path})",
	"let path = 7; [path] = ['.']; return codemode.filesystem__list_directory({path})",
	"let path = 7; ({path} = {path: '.'}); return codemode.filesystem__list_directory({path})",
	"let path: any = 7; for (path of ['.']); return codemode.filesystem__list_directory({path})",
	"let path: any = 7; const set = () => { path = '.' }; set(); return codemode.filesystem__list_directory({path})",
	"let path; path ??= '.'; return codemode.filesystem__list_directory({path})",
	"let n = 1; n++; return codemode.filesystem__read_text_file({path: 'a.md', head: n})",
	"return codemode.filesystem__read_text_file({path: 'a.md', head: 1 + 1})",
	"return codemode.filesystem__read_text_file({path: 'a.md', head: Number('1')})",
	"const head = 1_0; return codemode.filesystem__read_text_file({path: 'a.md', head})",
	"enum N { One = 1 }\nreturn codemode.filesystem__read_text_file({path: 'a.md', head: N.One})",
	"try { JSON.parse('{') } catch (path) { path = '.'; return codemode.filesystem__list_directory({path}) }",
	"const path = '.'; { const path = 7; } return codemode.filesystem__list_directory({path})",
	"switch (1) { case 1: const path = '.'; return codemode.filesystem__list_directory({path}) }",
	"return codemode.filesystem__list_directory({path: `${'.'}`})",
	"label: for (;;) { break label } return codemode.filesystem__list_directory({path: '.'} as any)",
}

// variations puts ways to reach a tool, ways to call what was reached, and ways to write the arguments together.
func variations() []string {
	var programs []string
	for _, reach := range []string{
		"const f = codemode.filesystem__list_directory;",
		"const f = codemode['filesystem__list_directory'];",
		"const f = codemode.filesystem.list_directory;",
		"const {filesystem__list_directory: f} = codemode;",
		"const {filesystem: {list_directory: f}} = codemode;",
		"const {list_directory: f, ...rest} = codemode.filesystem;",
		"const s = codemode.filesystem; const f = s.list_directory;",
		"const s = (x => x)(codemode.filesystem); const f = s.list_directory;",
		"const f = (x => codemode['filesystem__' + x])('list_directory');",
		"const f = x => codemode.filesystem.list_directory(x);",
		"const all = {fs: codemode.filesystem}; const f = all.fs.list_directory;",
		"let f; f = codemode.filesystem__list_directory;",
		"const [f] = ['list_directory'].map(n => codemode.filesystem[n]);",
	} {
		for _, use := range []string{
			"return f(%s)", "return await f(%s)", "const r = await f(%s); return r", "return f?.(%s)",
			"return Promise.all([f(%s)])", "const g = f; return g(%s)", "const go = async h => h(%s); return go(f)",
			"return (await Promise.allSettled([%s].map(f))).map(x => { if (x.status !== 'fulfilled') throw x.reason })",
			"try { return await f(%s) } finally { console.log('done') }",
		} {
			for _, args := range []string{"{path: '.'}", "o", "{...o}", "{path: o.path}", "JSON.parse('{\"path\":\".\"}')"} {
				programs = append(programs, "const o = {path: '.'};\n"+reach+"\n"+fmt.Sprintf(use, args))
			}
		}
	}
	return programs
}

// What runs well is not called wrong by check: no unknown tool, no arguments that do not fit, nothing that is sure to
// be refused.
func TestCheckRaisesNoFalseAlarm(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"denylist": ["filesystem__delete_file"], "unmatched": "allow"}}}}`)
	ran := 0
	for _, code := range slices.Concat(goodPrograms, variations()) {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code})
		if err != nil || slices.ContainsFunc(r.Calls, func(c hostfns.Report) bool { return c.State != hostfns.Done }) {
			t.Errorf("%s\ndoes not run well: %s", code, r.Text(err))
			continue
		}
		ran++
		plan := check(t, e, "p", code)
		if text := plan.Text(); !plan.Allowed || plan.Denied() > 0 || strings.Contains(text, "unknown tool") ||
			strings.Contains(text, "do not fit") {
			t.Errorf("%s\nruns well, and check says\n%s", code, text)
		}
	}
	if ran < 600 {
		t.Errorf("only %d programs ran", ran)
	}
}
