package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// Each row is a program, and what nobody awaits in it: the place, ! where the promise is taken for its value, and the
// first words.
func TestUnawaited(t *testing.T) {
	for text, want := range map[string]string{
		"codemode.a.b({}); return 1":                                      "1:1 nobody awaits the call of a__b",
		"codemode.a__b({});\ncodemode['a__c']({}); return 1":              "1:1 nobody awaits the call of a__b; 2:1 nobody awaits the call of a__c",
		"await codemode.a.b({}); return 1":                                "",
		"return codemode.a.b({})":                                         "",
		"const p = codemode.a.b({}); await p; return 1":                   "",
		"const p = codemode.a.b({}); return 1":                            "1:11 nobody awaits the call of a__b",
		"let p; p = codemode.a.b({}); return 1":                           "",
		"codemode.background(codemode.a.b({})); return 1":                 "",
		"return Promise.all([codemode.a.b({})])":                          "",
		"Promise.all([codemode.a.b({})]); return 1":                       "1:1 nobody awaits this Promise.all",
		"void codemode.a.b({}); return 1":                                 "1:6 nobody awaits the call of a__b",
		"input && codemode.a.b({}); return 1":                             "1:10 nobody awaits the call of a__b",
		"input ? codemode.a.b({}) : codemode.a.c({}); return 1":           "1:9 nobody awaits the call of a__b; 1:28 nobody awaits the call of a__c",
		"for (const x of [1]) codemode.a.b({x}); return 1":                "1:22 nobody awaits the call of a__b",
		"const f = codemode.a.b; f({}); return 1":                         "1:25 nobody awaits the call of a__b",
		"const {a__b} = codemode; a__b({}); return 1":                     "1:26 nobody awaits the call of a__b",
		"codemode.a.b({}).then(x => x); return 1":                         "1:1 nobody awaits the call of a__b",
		"codemode.a.b({}).then(x => x).catch(() => 0); return 1":          "",
		"codemode.a.b({}).catch(() => 0).then(x => x); return 1":          "1:1 nobody awaits the call of a__b",
		"codemode.a.b({}).then(x => x, () => 0); return 1":                "",
		"codemode.a.b({}).catch(() => 0).finally(() => 0); return 1":      "",
		"async function main() {}\nmain(); return 1":                      "2:1 nobody awaits the call of main",
		"const main = async () => {};\nmain(); return 1":                  "2:1 nobody awaits the call of main",
		"async function main() {}\nmain()":                                "",
		"main();\nasync function main() {}":                               "",
		"async function main() {}\nmain(); console.log(1)":                "2:1 nobody awaits the call of main",
		"const save = n => codemode.a.b({n});\nsave(1); return 1":         "2:1 nobody awaits the call of save",
		"(async () => { await codemode.a.b({}) })(); return 1":            "1:2 nobody awaits this async function",
		"[1].forEach(async x => { await codemode.a.b({x}) }); return 1":   "1:5 forEach does not wait",
		"[1].forEach(x => codemode.a.b({x})); return 1":                   "1:5 forEach does not wait",
		"[1].forEach(x => { codemode.a.b({x}) }); return 1":               "1:20 nobody awaits the call of a__b",
		"[1].forEach(x => console.log(x)); return 1":                      "",
		"[{}].forEach(codemode.a.b); return 1":                            "1:6 forEach does not wait",
		"[1].map(async x => codemode.a.b({x})); return 1":                 "1:5 nobody awaits the promises of this map",
		"return Promise.all([1].map(async x => codemode.a.b({x})))":       "",
		"setTimeout(async () => { await codemode.a.b({}) }, 1); return 1": "1:1 nobody awaits what this function of setTimeout does",
		"setTimeout(() => codemode.a.b({}), 1); return 1":                 "1:1 nobody awaits what this function of setTimeout does",
		"setTimeout(() => {}, 1); return 1":                               "",
		"return codemode.a.b({x: codemode.a.c({})})":                      "1:25!a promise is in the arguments, that of the call of a__c",
		"return codemode.a.b({x: [...codemode.a.c({})]})":                 "1:29!a promise is in the arguments, that of the call of a__c",
		"const p = codemode.a.c({}); return codemode.a.b({x: {y: p}})":    "1:57!a promise is in the arguments, that of the call of a__c",
		"return codemode.a.b({x: await codemode.a.c({})})":                "",
		"return JSON.stringify({x: codemode.a.c({})})":                    "1:27!a promise is in the arguments, that of the call of a__c",
		"return {x: codemode.a.c({})}":                                    "",
		"const r = codemode.a.b({}); return r.items":                      "1:38!items is read of a promise, that of the call of a__b",
		"return codemode.a.b({}).items.length":                            "1:25!items is read of a promise, that of the call of a__b",
		"return (await codemode.a.b({})).items":                           "",
		"return `${codemode.a.b({})}`":                                    "1:11!a promise is put into a text, that of the call of a__b",
		"return [1].filter(async x => codemode.a.b({x}))":                 "1:12!filter takes the promise of an async function",
		"codemode.search_tools('x'); return 1":                            "1:1 nobody awaits the call of search_tools",
		"const f = async () => f(); return 1":                             "",
		"console.log(codemode.a.b({})); return 1":                         "",
		"const a = b, b = a; a(); return 1":                               "",
	} {
		p, problems := Compile("", text)
		if len(problems) > 0 {
			t.Errorf("%q: %v", text, problems)
			continue
		}
		var got []string
		for _, u := range p.Unawaited {
			mark := " "
			if u.Wrong {
				mark = "!"
			}
			got = append(got, fmt.Sprintf("%d:%d%s%s", u.Line, u.Column, mark, u.Text))
		}
		ok := want == "" && len(got) == 0 || want != "" && len(got) == strings.Count(want, ";")+1
		for i, w := range strings.Split(want, "; ") {
			ok = ok && (want == "" || strings.HasPrefix(got[i], w))
		}
		if !ok {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
