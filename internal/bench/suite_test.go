package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
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
	if err != nil {
		t.Fatal(err)
	}
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
		{"needs what nobody claims", `[{"file": "a.js", "outcome": "value", "needs": ["luck"]}]`, `it needs "luck"`},
		{"is in a language that there is not", `[{"file": "a.js", "outcome": "value", "language": "cobol"}]`, `"cobol"`},
		{"lists a file twice", `[{"file": "a.js", "outcome": "value"}, {"file": "a.js", "outcome": "error"}]`, "twice"},
		{"comes after what is not listed", `[{"file": "a.js", "outcome": "value", "after": "b.js"}]`, "not listed"},
		{"comes after itself", `[{"file": "a.js", "outcome": "value", "after": "a.js"}]`, "leads back"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadSuite(dir(map[string]string{"attacks.json": test.manifest, "a.js": "return 1"}))
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
	const good = `{"class": "c", "kind": "escape", "severity": "high", "text": "out"}`
	for _, test := range []struct{ name, classes, want string }{
		{"are no JSON", `[`, "classes.json"},
		{"have a kind that there is not", `[{"class": "c", "kind": "odd", "severity": "high", "text": "out"}]`, `"odd"`},
		{"have a severity that there is not", `[{"class": "c", "kind": "escape", "severity": "odd", "text": "out"}]`, `"odd"`},
		{"say nothing", `[{"class": "c", "kind": "escape", "severity": "high"}]`, "no text"},
		{"are listed twice", `[` + good + `, ` + good + `]`, "twice"},
		{"have no case", `[` + good + `, {"class": "d", "kind": "escape", "severity": "high", "text": "out"}]`, "no case"},
		{"are not all there", `[]`, `does not list the class "c" of a.js`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadSuite(dir(map[string]string{"attacks.json": `[{"file": "a.js", "class": "c", "outcome": "value"}]`,
				"a.js": "return 1", "classes.json": test.classes}))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestWhatACaseNeeds(t *testing.T) {
	for _, test := range []struct{ outcome, program, want string }{
		{"value", "return 1", ""},
		{"timeout", "for (;;);", "time"},
		{"memory", "const a = []; for (;;) a.push(a)", "memory"},
		{"denied", "await codemode.secret()", "calls"},
		{"value", "// codemode and console\nreturn 1", ""},
		{"timeout", "setTimeout(() => console.log(1)); for (;;);", "console time timers"},
	} {
		s := suite(t, `[{"file": "a.js", "class": "c", "outcome": "`+test.outcome+`"}]`, map[string]string{"a.js": test.program})
		if got := strings.Join(s.Cases[0].Needs, " "); got != test.want {
			t.Errorf("%s: it needs %q, want %q", test.program, got, test.want)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cases) < 200 {
		t.Errorf("it has %d cases, want at least 200", len(s.Cases))
	}
}
