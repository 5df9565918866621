package bench

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/codemode-project/codemode/internal/checktest"
)

// dir makes a directory of the given files.
func dir(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// suite makes a suite of programs; each entry of the manifest is one line.
func suite(t *testing.T, manifest string, programs map[string]string) *Suite {
	t.Helper()
	files := map[string]string{"attacks.json": manifest}
	for name, text := range programs {
		files[name] = text
	}
	s, err := LoadSuite(dir(files))
	checktest.OK(t, err)
	return s
}

func TestBrokenManifests(t *testing.T) {
	for _, test := range []struct{ name, manifest, want string }{
		{"is no JSON", `[{`, "this { is never closed, at byte 1"},
		{"has more after it", `[{"file": "a.js", "outcome": "value"}] more`, "text after the end of the value"},
		{"has a case that is null", `[null]`, "case 1 is null"},
		{"lists nothing", `[]`, "no cases"},
		{"names no file", `[{"class": "c", "outcome": "value"}]`, "case 1"},
		{"names a file that is not there", `[{"file": "b.js", "outcome": "value"}]`, "b.js"},
		{"has an outcome that there is not", `[{"file": "a.js", "outcome": "fine"}]`, `"fine"`},
		{"accepts an outcome that there is not", `[{"file": "a.js", "outcome": "value", "also": ["crash"]}]`, `"crash"`},
		{"lists a file twice", `[{"file": "a.js", "outcome": "value"}, {"file": "a.js", "outcome": "error"}]`, "twice"},
		{"comes after what is not listed", `[{"file": "a.js", "outcome": "value", "after": "b.js"}]`, "not listed"},
		{"comes after itself", `[{"file": "a.js", "outcome": "value", "after": "a.js"}]`, "leads back"},
		{"comes after another language", `[{"file": "a.js", "outcome": "value", "after": "a.py"},
			{"file": "a.py", "outcome": "value", "language": "python"}]`, "another language"},
		{"needs a claim that there is not", `[{"file": "a.js", "outcome": "value", "needs": ["clocks"]}]`, `"clocks"`},
		{"needs a claim twice", `[{"file": "a.js", "outcome": "value", "needs": ["time", "time"]}]`, `"time" twice`},
		{"is in no language", `[{"file": "a.js", "outcome": "value", "language": "perl"}]`, `"perl"`},
		{"is like what is not listed", `[{"file": "a.js", "outcome": "value", "like": "b.js"}]`, "not listed"},
		{"is like itself", `[{"file": "a.js", "outcome": "value", "like": "a.js"}]`, "itself"},
		{"is like one of another class", `[{"file": "a.js", "class": "x", "outcome": "value", "like": "a.py"},
			{"file": "a.py", "class": "y", "outcome": "value"}]`, "another class"},
		{"is like one of another language", `[{"file": "a.js", "outcome": "value", "like": "a.py"},
			{"file": "a.py", "outcome": "value", "language": "python"}]`, "another class or language"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadSuite(dir(map[string]string{"attacks.json": test.manifest, "a.js": "return 1", "a.py": "return 1"}))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := LoadSuite(dir(nil)); err == nil {
		t.Error("a directory without a manifest was accepted")
	}
}

func TestBrokenClasses(t *testing.T) {
	const manifest = `[{"file": "a.js", "class": "loops", "outcome": "value"}]`
	const loops = `{"class": "loops", "kind": "denial of service", "severity": "high", "text": "It never ends."}`
	for _, test := range []struct{ name, classes, want string }{
		{"are no JSON", `[{`, "this { is never closed"},
		{"have a class that is null", `[` + loops + `, null]`, "class 2 is null"},
		{"leave out a class", `[]`, `no class "loops", which attacks.json, case 1 ("a.js") has`},
		{"have a class without cases",
			`[` + loops + `, {"class": "leaks", "kind": "escape", "severity": "low", "text": "x"}]`,
			`class 2 ("leaks"): no case has it`},
		{"list a class twice", `[` + loops + `,` + loops + `]`, `class 2 ("loops"): it is listed twice`},
		{"have a class without a name", `[{"kind": "escape", "severity": "low", "text": "x"}]`, "no name"},
		{"have a kind that there is not", strings.Replace(`[`+loops+`]`, "denial of service", "bug", 1), `the kind "bug"`},
		{"have a severity that there is not", strings.Replace(`[`+loops+`]`, "high", "bad", 1), `the severity "bad"`},
		{"have no text", strings.Replace(`[`+loops+`]`, "It never ends.", " ", 1), "no text"},
		{"have a field that there is not", strings.Replace(`[`+loops+`]`, `"text"`, `"texts"`, 1), `unknown field "texts"`},
		{"have a field twice", strings.Replace(`[`+loops+`]`, `"text"`, `"kind": "escape", "text"`, 1), "same key twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadSuite(dir(map[string]string{"attacks.json": manifest, "a.js": "", "classes.json": test.classes}))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "classes.json") {
				t.Errorf("got %v, want an error of classes.json with %q", err, test.want)
			}
		})
	}
	s, err := LoadSuite(dir(map[string]string{"attacks.json": manifest, "a.js": "", "classes.json": `[` + loops + `]`}))
	checktest.OK(t, err)
	c := s.Cases[0]
	if c.Kind != "denial of service" || c.Severity != "high" || c.Text != "It never ends." {
		t.Errorf("got %+v, want what classes.json says", c)
	}
}

// What a case needs follows from its outcome, its program and the cases before it; the manifest adds the rest.
func TestNeeds(t *testing.T) {
	for _, test := range []struct{ name, entry, program, want string }{
		{"nothing", `"outcome": "value"`, "return 1", ""},
		{"time", `"outcome": "timeout", "also": ["memory"]`, "for (;;);", "time"},
		{"memory", `"outcome": "memory", "also": ["timeout"]`, "", "memory"},
		{"nothing for what is as safe", `"outcome": "error", "also": ["timeout", "memory"]`, "", ""},
		{"calls", `"outcome": "value"`, "return await codemode.echo(1)", "calls"},
		{"calls by another way", `"outcome": "denied"`, "const { secret } = globalThis.codemode", "calls"},
		{"timers", `"outcome": "value"`, "clearInterval(setTimeout(f, 1))", "timers"},
		{"the console", `"outcome": "value"`, "console.log(1)", "console"},
		{"nothing of a comment", `"outcome": "value"`, "// codemode, console\n  // setTimeout\nreturn 1", ""},
		{"nothing of a name in quotes", `"outcome": "value"`, `return 'setTimeout' in globalThis || this["console"]`, ""},
		{"calls of code in quotes", `"outcome": "denied"`, `return await eval('codemode.secret()')`, "calls"},
		{"nothing of a part of a name", `"outcome": "value"`, "return codemodes + consoles", ""},
		{"what the manifest says, in order", `"outcome": "timeout", "needs": ["codemode", "parallel", "time"]`,
			"codemode.slow()", "time calls parallel codemode"},
		{"what came before it", `"outcome": "value", "after": "before.js"`, "console.log(1)", "time calls console"},
		{"calls in Python", `"outcome": "value", "language": "python"`, "# console\nconsole = codemode.echo(1)", "calls"},
		{"nothing of a comment in Python", `"outcome": "value", "language": "python"`, "# codemode\nreturn 1", ""},
	} {
		s := suite(t, `[{"file": "a", `+test.entry+`}, {"file": "before.js", "outcome": "timeout"}]`,
			map[string]string{"a": test.program, "before.js": "codemode.echo(1); for (;;);"})
		if got := strings.Join(s.Cases[0].Needs, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCoreAndLanguages(t *testing.T) {
	s := suite(t, `[
		{"file": "loop.js", "outcome": "timeout"},
		{"file": "other.js", "outcome": "timeout", "like": "loop.js"},
		{"file": "loop.py", "outcome": "timeout", "language": "python"}]`,
		map[string]string{"loop.js": "", "other.js": "", "loop.py": ""})
	files := func(s *Suite) (all string) {
		for _, c := range s.Cases {
			all += c.File + " "
		}
		return all
	}
	if got := files(s.Core()); got != "loop.js loop.py " {
		t.Errorf("the core is %s, want loop.js and loop.py", got)
	}
	for language, want := range map[string]string{JavaScript: "loop.js other.js ", Python: "loop.py "} {
		if part, err := s.In(language); err != nil || files(part) != want {
			t.Errorf("in %s: got %v, %v, want %s", language, part, err, want)
		}
	}
	if part, err := s.In("perl"); err == nil {
		t.Errorf("in perl: got %s", files(part))
	}
	if part, err := s.Filter("loop"); err != nil || files(part) != "loop.js loop.py " {
		t.Errorf("by the name without its ending: got %v, %v", part, err)
	}
}

func TestFilterKeepsWhatACaseComesAfter(t *testing.T) {
	s := suite(t, `[
		{"file": "plant.js", "class": "state", "outcome": "value"},
		{"file": "grow.js", "class": "state", "outcome": "value", "after": "plant.js"},
		{"file": "loop.js", "class": "loops", "outcome": "timeout"},
		{"file": "seek.js", "class": "state", "outcome": "value", "after": "grow.js"}]`,
		map[string]string{"plant.js": "", "grow.js": "", "loop.js": "", "seek.js": ""})
	kept, err := s.Filter("seek*")
	checktest.OK(t, err)
	if len(kept.Cases) != 1 || len(kept.Cases[0].before) != 2 || kept.Cases[0].before[0].File != "plant.js" ||
		kept.Cases[0].before[1].File != "grow.js" {
		t.Errorf("got %+v, want seek.js after plant.js and grow.js", kept.Cases[0])
	}
	if kept, err = s.Filter("loops"); err != nil || len(kept.Cases) != 1 || kept.Cases[0].File != "loop.js" {
		t.Errorf("by class: got %v, %v", kept, err)
	}
	for _, pattern := range []string{"nothing*", "[", ""} {
		if _, err := s.Filter(pattern); err == nil {
			t.Errorf("Filter(%q) gave no error", pattern)
		}
	}
}

// The parts of a suite are disjoint, the same each time, and together all of it.
func TestShards(t *testing.T) {
	all, err := LoadSuite(Attacks())
	checktest.OK(t, err)
	for _, n := range []int{1, 2, 7, len(all.Cases)} {
		seen := map[string]bool{}
		for i := 1; i <= n; i++ {
			part, err := all.Shard(i, n)
			again, err2 := all.Shard(i, n)
			if err != nil || err2 != nil || len(part.Cases) < len(all.Cases)/n {
				t.Fatalf("part %d of %d: %v, %v", i, n, err, err2)
			}
			for k, c := range part.Cases {
				if seen[c.File] || again.Cases[k] != c {
					t.Errorf("part %d of %d has %s, which another part has, or not each time", i, n, c.File)
				}
				seen[c.File] = true
			}
		}
		if len(seen) != len(all.Cases) {
			t.Errorf("%d parts have %d of %d cases", n, len(seen), len(all.Cases))
		}
	}
	for _, wrong := range [][2]int{{0, 1}, {-1, 2}, {3, 2}, {1, 0}, {1, -1}, {len(all.Cases) + 1, len(all.Cases) + 1}} {
		if part, err := all.Shard(wrong[0], wrong[1]); err == nil {
			t.Errorf("Shard(%d, %d) gave %d cases", wrong[0], wrong[1], len(part.Cases))
		}
	}
}

func TestExpect(t *testing.T) {
	for _, test := range []struct {
		expect, value string
		fits          bool
	}{
		{"", `{"any": "thing"}`, true},
		{`1`, `1`, true},
		{`1`, `1.0e0`, true},
		{`1`, `2`, false},
		{`1`, `"1"`, false},
		{`"part"`, `"the part of it"`, true},
		{`"part"`, `"the whole"`, false},
		{`"part"`, `["part"]`, false},
		{`null`, ``, true},
		{`null`, `null`, true},
		{`0`, ``, false},
		{`{"a": [1, 2], "b": null}`, `{"b":null,"a":[1,2]}`, true},
		{`{"a": 1}`, `{"a":1,"b":2}`, false},
		{`{"a": 1}`, `{"b":1}`, false},
		{`[1, 2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`true`, `true`, true},
		{`true`, `1`, false},
	} {
		c := Case{}
		if test.expect != "" {
			c.Expect = json.RawMessage(test.expect)
		}
		var value json.RawMessage
		if test.value != "" {
			value = json.RawMessage(test.value)
		}
		if got := c.Fits(value); got != test.fits {
			t.Errorf("expect %s of %s: got %v, want %v", test.expect, test.value, got, test.fits)
		}
	}
}

func TestTheSuiteOfTheProduct(t *testing.T) {
	s, err := LoadSuite(Attacks())
	checktest.OK(t, err)
	core := 0
	for _, c := range s.Core().Cases {
		if c.Language == JavaScript {
			core++
		}
	}
	if core < 300 || core > 500 {
		t.Errorf("the core has %d cases in JavaScript, want some 400", core)
	}
	for _, c := range s.Cases {
		if !slices.Contains(Kinds, c.Kind) || !slices.Contains(Severities, c.Severity) || c.Text == "" {
			t.Errorf("%s: its class %s is not described", c.File, c.Class)
		}
		if ending := map[string]string{JavaScript: ".js", Python: ".py"}[c.Language]; path.Ext(c.File) != ending {
			t.Errorf("%s is in %s", c.File, c.Language)
		}
		if row, _, _ := strings.Cut(c.Class, "-"); !strings.HasPrefix(c.File, row+"_") {
			t.Errorf("%s is of the class %s", c.File, c.Class)
		}
	}
}

// What documents say of the size of the suite is so.
func TestDocumentsKnowTheSizeOfTheSuite(t *testing.T) {
	s, err := LoadSuite(Attacks())
	checktest.OK(t, err)
	javaScript, err := s.In(JavaScript)
	checktest.OK(t, err)
	n := len(javaScript.Cases)
	all, python := fmt.Sprintf("%d,%03d", n/1000, n%1000), fmt.Sprint(len(s.Cases)-n)
	for file, figures := range map[string][]string{
		"../../docs/comparison.md":         {"| " + all + " |"},
		"../../testdata/attacks/README.md": {all + " programs in JavaScript", python + " programs are in Python"},
	} {
		text, err := os.ReadFile(file)
		checktest.OK(t, err)
		for _, figure := range figures {
			if !strings.Contains(string(text), figure) {
				t.Errorf("%s does not say %q", file, figure)
			}
		}
	}
}

// Every program of the folder is listed: one that is not would never run.
func TestEveryAttackIsListed(t *testing.T) {
	s, err := LoadSuite(Attacks())
	checktest.OK(t, err)
	files, err := fs.Glob(os.DirFS("../../testdata/attacks"), "*_*")
	if err != nil || len(files) < 200 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, file := range files {
		if !slices.ContainsFunc(s.Cases, func(c *Case) bool { return c.File == file }) {
			t.Errorf("%s is in no entry of attacks.json", file)
		}
	}
}
