package codemode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
)

const crmRules = `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__*", "other__*"],
	"denylist": ["crm__wipe", {"tool": "crm__getInvoice", "when": {"/n": {"eq": 13}}}]}}, "defaultProfile": "p"}}`

type crmArgs struct {
	N     int    `json:"n,omitempty"`
	Shape string `json:"shape,omitempty"`
}

// withCRM has two servers of which each tool gives its own name.
func withCRM(o *codemode.Options) {
	tool := func(name string) codemode.Function {
		return codemode.Func(name, "Does "+name+".", func(_ context.Context, in crmArgs) (string, error) {
			return fmt.Sprintf("%s %d", name, in.N), nil
		}, codemode.ReadOnly)
	}
	o.Servers = append(o.Servers,
		codemode.Server{Name: "crm", Functions: []codemode.Function{
			tool("list_customers"), tool("getInvoice"), tool("twin_tool"), tool("wipe"), tool("run"), tool("do_it"), tool("doIt")}},
		codemode.Server{Name: "other", Functions: []codemode.Function{tool("twin_tool")}})
}

// spellings are programs as other systems have them, and the call that each makes, or "" and what its error says.
var spellings = []struct{ code, call, says string }{
	{`codemode.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode["crm.list_customers"]({n: 1})`, "crm__list_customers", ""},
	{`codemode["crm/list_customers"]({n: 1})`, "crm__list_customers", ""},
	{`codemode["crm-list-customers"]({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm_list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crmListCustomers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm.listCustomers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm["list-customers"]({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm.ListCustomers({n: 1})`, "crm__list_customers", ""},
	{`codemode.CRM.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm__listCustomers({n: 1})`, "crm__list_customers", ""},
	{`codemode.crm.get_invoice({n: 1})`, "crm__getInvoice", ""},
	{`codemode.crm__get_invoice({n: 1})`, "crm__getInvoice", ""},
	{`codemode.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.mcp__crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.tools.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.tools.crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.servers.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.mcp.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode.call("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.call("crm.list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.call("list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.call("crm", "list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.call({name: "crm__list_customers", arguments: {n: 1}})`, "crm__list_customers", ""},
	{`codemode.call({server: "crm", tool: "list_customers", args: {n: 1}})`, "crm__list_customers", ""},
	{`codemode.callTool("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.callTool({name: "crm__list_customers", arguments: {n: 1}})`, "crm__list_customers", ""},
	{`codemode.call_tool("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.invoke("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.run("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.execute("mcp__crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.tools.call("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`tools.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`tools.crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`tools.list_customers({n: 1})`, "crm__list_customers", ""},
	{`tools.listCustomers({n: 1})`, "crm__list_customers", ""},
	{`tools["crm__list_customers"]({n: 1})`, "crm__list_customers", ""},
	{`tools.mcp__crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`functions.list_customers({n: 1})`, "crm__list_customers", ""},
	{`functions.crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`mcp.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`servers.crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`crm.list_customers({n: 1})`, "crm__list_customers", ""},
	{`crm.listCustomers({n: 1})`, "crm__list_customers", ""},
	{`crm["list_customers"]({n: 1})`, "crm__list_customers", ""},
	{`crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`crm_list_customers({n: 1})`, "crm__list_customers", ""},
	{`crmListCustomers({n: 1})`, "crm__list_customers", ""},
	{`mcp__crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`external_list_customers({n: 1})`, "crm__list_customers", ""},
	{`external_crm__list_customers({n: 1})`, "crm__list_customers", ""},
	{`codemode_call("crm.list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode_call("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`call_tool("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`callTool({name: "list_customers", arguments: {n: 1}})`, "crm__list_customers", ""},
	{`use_mcp_tool({server_name: "crm", tool_name: "list_customers", arguments: {n: 1}})`, "crm__list_customers", ""},
	{`client.callTool({name: "list_customers", arguments: {n: 1}})`, "crm__list_customers", ""},
	{`client.callTool("crm__list_customers", {n: 1})`, "crm__list_customers", ""},
	{`codemode.crm.run({n: 1})`, "crm__run", ""}, // the server's own
	{`codemode.crm.do_it({n: 1})`, "crm__do_it", ""},
	{`codemode.crm.doIt({n: 1})`, "crm__doIt", ""},

	{`codemode.crm.list_customer({n: 1})`, "", `did you mean crm__list_customers`},
	{`codemode.crm.doit({n: 1})`, "", `did you mean crm__doIt, crm__do_it`}, // both fit
	{`codemode.customers__list_customers({n: 1})`, "", `did you mean crm__list_customers`},
	{`tools.twin_tool({n: 1})`, "", `did you mean crm__twin_tool, other__twin_tool`},
	{`codemode.call("crm__list_custmers", {n: 1})`, "", `did you mean crm__list_customers`},
	{`codemode.call({arguments: {}})`, "", `codemode.call("<server>__<tool>", arguments)`},
	{`crmm.list_customers({n: 1})`, "", `crmm is not defined; did you mean codemode.crm?`},
	{`list_customers({n: 1})`, "", `list_customers is not defined; did you mean codemode.crm__list_customers`},
	{`customers__list_customers({n: 1})`, "", `did you mean codemode.crm__list_customers`},
	{`codemode.list_tools()`, "", `there is no tool "list_tools"; Object.keys(codemode) lists`},
	{`codemode.crm.nothing_near()`, "", `Object.keys(codemode) lists those there are`},
	{`codemode.crm.wipe({})`, "", `refused`},
	{`crm.wipe({})`, "", `refused`},
	{`crm.Wipe({})`, "", `there is no tool "crm__Wipe"`}, // a denied tool is not there
	{`codemode.call("crm__wipe", {})`, "", `refused`},
	{`crm.get_invoice({n: 13})`, "", `the call of crm__getInvoice was refused`},
}

// TestOneReadingOfANameWorks and any other says what is meant, the same by Eval, in a session and in a check.
func TestOneReadingOfANameWorks(t *testing.T) {
	e := open(t, crmRules, withCRM, func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	for _, s := range spellings {
		t.Run(s.code, func(t *testing.T) {
			plan := check(t, e, "", "return await "+s.code)
			for _, session := range []string{"", "s"} {
				r, err := e.Eval(t.Context(), codemode.Request{Code: "return await " + s.code, Session: session})
				text := r.Text(err)
				switch {
				case s.call == "":
					if err == nil || !strings.Contains(text, s.says) || !strings.Contains(text, "program") {
						t.Errorf("session %q: got %s, want %s", session, text, s.says)
					}
				case err != nil || len(r.Calls) != 1 || r.Calls[0].Tool != s.call || !strings.HasSuffix(string(r.Value), ` 1"`):
					t.Errorf("session %q: got %s and %v", session, text, r.Calls)
				}
			}
			said, says := strings.ToLower(plan.Text()), strings.ToLower(s.says)
			if s.call != "" && (len(plan.Calls) != 1 || plan.Calls[0].Tool != s.call || string(plan.Calls[0].Args) != `{"n":1}`) {
				t.Errorf("check sees %+v", plan.Calls)
			}
			if s.call == "" && !strings.Contains(said, says) && (!strings.Contains(says, "refused") || !strings.Contains(said, ": deny")) &&
				!strings.Contains(said, "only the running program knows") {
				t.Errorf("check says %s", said)
			}
		})
	}
}

// TestDeclaredNamesAreTheirs: what a program, or an earlier one of its session, declares is never another name's.
func TestDeclaredNamesAreTheirs(t *testing.T) {
	e := open(t, crmRules, withCRM, func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	for _, code := range []string{
		`const crm = {list_customers: () => 7}; return crm.list_customers()`,
		`var tools = {x: () => 7}; return tools.x()`,
		`function crm__list_customers() { return 7 } return crm__list_customers()`,
		`return (crm => crm)(7)`,
		`const f = ({tools}) => tools; return f({tools: 7})`,
		`try { throw 7 } catch (client) { return client }`,
		`for (const mcp of [7]) return mcp`,
		`tools = 7; return tools`,
		`globalThis.crm = 7; return crm`,
		`class functions { static x = 7 } return functions.x`,
		`return eval("var crm = 7; crm")`,
		`try { return crm } catch (e) { return 7 } let crm = 1`,
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: code})
		if err != nil || string(r.Value) != "7" || len(r.Calls) > 0 {
			t.Errorf("%s: %s", code, r.Text(err))
		}
		if plan := check(t, e, "", code); len(plan.Calls) > 0 {
			t.Errorf("%s: check sees %+v", code, plan.Calls)
		}
	}
	for _, code := range []string{`const crm = {list_customers: () => 7}; return 1`, `return crm.list_customers()`} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: code, Session: "own"})
		if err != nil || len(r.Calls) > 0 {
			t.Errorf("%s: %s", code, r.Text(err))
		}
		plan, err := e.Check(t.Context(), codemode.Request{Code: `return crm.list_customers()`, Session: "own"})
		if err != nil || len(plan.Calls) > 0 {
			t.Errorf("check in the session: %v %+v", err, plan)
		}
	}
}

// TestProgramsCanListTools that their profile shows, and ask whether there is one.
func TestProgramsCanListTools(t *testing.T) {
	e := open(t, crmRules, withCRM)
	for code, want := range map[string]string{
		`Object.keys(codemode).filter(k => k.startsWith("crm"))`:                                                     `["crm__doIt","crm__do_it","crm__getInvoice","crm__list_customers","crm__run","crm__twin_tool"]`,
		`Object.keys(codemode.other)`:                                                                                `["twin_tool"]`,
		`Object.entries(codemode.other).map(([k, f]) => k + typeof f)`:                                               `["twin_toolfunction"]`,
		`Object.keys({...codemode.other})`:                                                                           `["twin_tool"]`,
		`(() => { const a = []; for (const k in codemode.other) a.push(k); return a })()`:                            `["twin_tool"]`,
		`Reflect.ownKeys(codemode).filter(k => !k.includes("__"))`:                                                   `["crm","other","search_tools","search","get_tools","emit","keep","load","ask_user","read_resource","background"]`,
		`["crm" in codemode, "nope" in codemode, "list_customers" in codemode.crm, "wipe" in codemode.crm]`:          `[true,false,true,false]`,
		`[codemode.hasOwnProperty("crm"), Object.hasOwn(codemode.crm, "wipe"), codemode.crm.hasOwnProperty("run")]`:  `[true,false,true]`,
		`[typeof codemode.crm.nope, typeof codemode.crm.wipe, typeof codemode.crm.run, typeof codemode.nope]`:        `["undefined","undefined","function","undefined"]`,
		`[!!codemode.crm__nope, codemode.crm.nope === undefined, codemode.crm.nope == null, codemode.crm.nope ?? 5]`: `[false,true,true,5]`,
		`[codemode.nope?.x, codemode.crm?.run === codemode.crm.run, codemode.crm.nope?.({})].map(x => x ?? 0)`:       `[0,true,0]`,
		`(() => { const {nope = 5} = codemode.crm; return nope })()`:                                                 `5`,
		`Object.keys(codemode.nope)`:                                                                                 `[]`,
		`[typeof tools, typeof crm, typeof nobody, typeof list_customers]`:                                           `["function","function","undefined","undefined"]`,
		`Object.keys(new Proxy(codemode.other, {}))`:                                                                 `["twin_tool"]`,
		`Object.keys(new Proxy({}, {ownKeys: () => Reflect.ownKeys(codemode.other), getOwnPropertyDescriptor: (_, k) => ({...Reflect.getOwnPropertyDescriptor(codemode.other, k)})}))`: `["twin_tool"]`,
		`Reflect.ownKeys(crm).length + codemode.crm.run.call.name`: `"6call"`,
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: "return " + code})
		if got := string(r.Value); err != nil || got != want || len(r.Calls) > 0 {
			t.Errorf("%s:\n got  %s\n want %s", code, r.Text(err), want)
		}
	}
}

// TestNamesThatAttack: a question is bounded by the run's own limits, widens nothing, and is no call.
func TestNamesThatAttack(t *testing.T) {
	e := open(t, strings.Replace(crmRules, `"p": {`, `"p": {"limits": {"cpu": "300ms", "calls": 3},`, 1), withCRM)
	for code, want := range map[string]string{
		`for (;;) "x" in codemode`:                                        "timed out",
		`for (;;) Object.keys(codemode)`:                                  "timed out",
		`for (let i = 0;; i++) typeof codemode["a" + i]`:                  "timed out",
		`for (let i = 0;; i++) { try { eval("a" + i) } catch {} }`:        "timed out",
		`for (let i = 0; i < 1000; i++) "x" in codemode.crm; return "ok"`: `"ok"`,
		// a getter that gives another name each time: the one that was read is called
		`let n = 0; return await codemode.call({get name() { return n++ ? "crm__wipe" : "crm__run" }, args: {n: 1}})`: `"run 1"`,
		`return await codemode.call({name: {toString: () => "crm__run"}})`:                                            "call a tool as",
		`return await codemode.call("crm__wipe\u0000", {})`:                                                           "call a tool as",
		`return await codemode["\u0000ncrm"]`:                                                                         "undefined",
		`codemode.crm.run = 1`:                                                                                        "read-only",
		`delete codemode.crm`:                                                                                         "read-only",
		`return codemode.call("x".repeat(5000), {})`:                                                                  "call a tool as",
		`return typeof codemode["x".repeat(5000)]`:                                                                    "function",
		`const p = new Proxy(codemode, {get: (t, k) => t.crm.wipe}); return await p.anything({})`:                     "refused",
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: code})
		if text := r.Text(err); !strings.Contains(text, want) {
			t.Errorf("%s:\n got  %s\n want %s", code, text, want)
		}
	}
}

type page struct {
	Items []struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	} `json:"items"`
	Next int `json:"next,omitempty"`
}

// TestPartsThatNoResultHasAreNamed in the answer, and where the type is known in a check, with the place and the shape.
func TestPartsThatNoResultHasAreNamed(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__*"]}}, "defaultProfile": "p"}}`, func(o *codemode.Options) {
		o.Servers = append(o.Servers, codemode.Server{Name: "crm", Functions: []codemode.Function{
			codemode.Func("page", "Gives a page.", func(context.Context, struct{}) (page, error) {
				var p page
				p.Items = append(p.Items, struct {
					ID   int    `json:"id"`
					Name string `json:"name"`
				}{7, "Ada"})
				return p, nil
			}),
			codemode.Func("any", "Gives anything.", func(context.Context, struct{}) (map[string]any, error) {
				return map[string]any{"id": 1, "list": []any{map[string]any{"k": "a"}}}, nil
			}),
			codemode.Func("text", "Gives text.", func(context.Context, struct{}) (string, error) { return "abc", nil }),
		}})
	})
	for _, row := range []struct{ code, note, check string }{
		{`const r = await codemode.crm.page({}); return r?.data?.length ?? 0`, `line 1, column 50: crm__page gave {items}, which has no "data"`, `crm__page gives {items, next}, which has no "data"`},
		{`const r = await crm.page({}); return r.content[0].text`, `crm__page gave {items}, which has no "content"`, `no "content"`},
		{`const {data} = await codemode.crm.page({}); return data`, `no "data"`, `no "data"`},
		{`return await crm.page({}).then(r => r.structuredContent)`, `no "structuredContent"`, `no "structuredContent"`},
		{`const r = await codemode.crm.page({}); return r.items.map(c => c.phone)`, `{id, name} at /items/-, which has no "phone"`, `no "phone"`},
		{`const r = await codemode.crm.page({}); for (const c of r.items) if (c.phone) return 1`, `no "phone"`, `no "phone"`},
		{`let r; do { r = await codemode.crm.page({}) } while (r.hasMore); return 1`, `no "hasMore"`, `no "hasMore"`},
		{`const r = await codemode.crm.page({}); if (r.isError) return 1; return 2`, `a call that fails throws`, `no "isError"`},
		{`const r = await codemode.crm.page({}); return r.next ?? "last"`, ``, ``}, // declared, and left out
		{`const r = await codemode.crm.page({}); return r.items[0].name + r.items.length`, ``, ``},
		{`const r = await codemode.crm.page({}); r.mine = 1; return r.mine`, ``, ``},
		{`const r = await codemode.crm.any({}); return r.phone`, `crm__any gave {id, list}, which has no "phone"`, ``},
		{`const r = await codemode.crm.any({}); return r.list.map(x => x.v)`, `no "v"`, ``},
		{`const r = await codemode.crm.any({}); return r.list.map(x => x.k)`, ``, ``},
		{`const r = await codemode.crm.text({}); return r.items`, `crm__text gave text, which has no "items"`, ``},
		{`const r = await codemode.crm.text({}); return r.toUpperCase()`, ``, ``},
		{`const r = {}; return r.data`, ``, ``},
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Code: row.code})
		text, said := r.Text(err), check(t, e, "", row.code).Text()
		if !strings.Contains(text, row.note) || row.note == "" && strings.Contains(text, "note:") {
			t.Errorf("%s:\n got  %s\n want %s", row.code, text, row.note)
		}
		if !strings.Contains(said, row.check) || row.check == "" && strings.Contains(said, "has no") {
			t.Errorf("%s:\n check says %s\n want %s", row.code, said, row.check)
		}
	}
	r, err := e.Eval(t.Context(), codemode.Request{Code: `const r = await crm.any({}); return JSON.parse(r).id`})
	if text := r.Text(err); !strings.Contains(text, "JSON.parse takes a text, and this is already an object {id, list}") {
		t.Error(text)
	}
}
