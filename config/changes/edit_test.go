package changes

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
)

// editable is a file as a person writes it: ‹x› marks the rule that an edit is about.
const editable = `// our rules
{
  "evaluation": {
    "profiles": {
      "work": {
        // what changes files
        "asklist": [
          "fs__write_*", // files
          /* mail */ "mail__*",
          { "tool": "pay__create",
            "when": { "/amount": { "gte": 100 } } } // money
        ],
        "allowlist": ["fs__read", "time__*"], // reading
        "unmatched": "deny"
      },
      "bare": {},
      "lines": {
        "asklist": [
          "git__push"
        ]
      },
      "tidy": {
        "denylist": [
          "db__drop",
          "db__wipe",
        ]
      }
    },
    "overlays": [{ "id": "contractor", "principal": "eve", "denylist": ["mail__*"] }]
  }
}
`

// An edit changes the lines that it is about, and no other: comments, order and layout stay.
func TestAnEditKeepsTheRestOfTheFile(t *testing.T) {
	for _, row := range []struct {
		title, rule string // the rule that is edited, as it is written; "" adds one
		e           Edit
		want        []string // lines that go, after "- ", and that come, after "+ "
	}{
		{"add to a list with a line for each rule", "", Edit{Profile: "work", List: "asklist", Rule: `"git__push"`}, []string{
			`-             "when": { "/amount": { "gte": 100 } } } // money`,
			`+             "when": { "/amount": { "gte": 100 } } }, // money`,
			`+           "git__push"`}},
		{"add to a list on one line", "", Edit{Profile: "work", List: "allowlist", Rule: `"git__log"`}, []string{
			`-         "allowlist": ["fs__read", "time__*"], // reading`,
			`+         "allowlist": ["fs__read", "time__*", "git__log"], // reading`}},
		{"add to a list with a comma at its end", "", Edit{Profile: "tidy", List: "denylist", Rule: `"db__cut"`}, []string{
			`+           "db__cut",`}},
		{"add to a list without one", "", Edit{Profile: "lines", List: "asklist", Rule: `"git__log"`}, []string{
			`-           "git__push"`, `+           "git__push",`, `+           "git__log"`}},
		{"add a list", "", Edit{Profile: "work", List: "denylist", Rule: `"db__*"`}, []string{`+         "denylist": ["db__*"],`}},
		{"add to an empty profile", "", Edit{Profile: "bare", List: "denylist", Rule: `"db__*"`}, []string{
			`-       "bare": {},`, `+       "bare": {"denylist": ["db__*"]},`}},
		{"add to an overlay", "", Edit{Overlay: "contractor", List: "denylist", Rule: `"pay__*"`}, []string{
			`-     "overlays": [{ "id": "contractor", "principal": "eve", "denylist": ["mail__*"] }]`,
			`+     "overlays": [{ "id": "contractor", "principal": "eve", "denylist": ["mail__*", "pay__*"] }]`}},
		{"change", `"fs__write_*"`, Edit{Rule: `{"tool": "fs__write_*", "risk": "high"}`}, []string{
			`-           "fs__write_*", // files`, `+           {"tool": "fs__write_*", "risk": "high"}, // files`}},
		{"change to several lines", `"db__drop"`, Edit{Rule: "{\n\t\"tool\": \"db__drop\"\r\n}  // not this"}, []string{
			`-           "db__drop",`, `+           {`, `+             "tool": "db__drop"`, `+           },`}},
		{"remove the first", `"fs__write_*"`, Edit{Remove: true}, []string{`-           "fs__write_*", // files`}},
		{"remove behind a comment", `"mail__*"`, Edit{Remove: true}, []string{
			`-           /* mail */ "mail__*",`, `+           /* mail */ `}},
		{"remove the last, of two lines", `{ "tool": "pay__create"`, Edit{Remove: true}, []string{
			`-           /* mail */ "mail__*",`,
			`-           { "tool": "pay__create",`, `-             "when": { "/amount": { "gte": 100 } } } // money`,
			`+           /* mail */ "mail__*"`}},
		{"remove the last of a line", `"time__*"`, Edit{Remove: true}, []string{
			`-         "allowlist": ["fs__read", "time__*"], // reading`, `+         "allowlist": ["fs__read"], // reading`}},
		{"remove the first of a line", `"fs__read"`, Edit{Remove: true}, []string{
			`-         "allowlist": ["fs__read", "time__*"], // reading`, `+         "allowlist": ["time__*"], // reading`}},
		{"remove with a comma at the end", `"db__wipe"`, Edit{Remove: true}, []string{`-           "db__wipe",`}},
		{"move", `"time__*"`, Edit{List: "asklist"}, []string{
			`-             "when": { "/amount": { "gte": 100 } } } // money`,
			`+             "when": { "/amount": { "gte": 100 } } }, // money`,
			`+           "time__*"`,
			`-         "allowlist": ["fs__read", "time__*"], // reading`, `+         "allowlist": ["fs__read"], // reading`}},
		{"move to a list that is not there yet", `"fs__write_*"`, Edit{List: "denylist"}, []string{
			`+         "denylist": ["fs__write_*"],`, `-           "fs__write_*", // files`}},
		{"move and change", `"fs__read"`, Edit{List: "denylist", Rule: `"fs__*"`}, []string{
			`+         "denylist": ["fs__*"],`,
			`-         "allowlist": ["fs__read", "time__*"], // reading`, `+         "allowlist": ["time__*"], // reading`}},
		{"a rule of invisible characters is escaped", `"db__drop"`, Edit{Rule: "\"db__\u202edrop\""}, []string{
			`-           "db__drop",`, `+           "db__\u202edrop",`}},
	} {
		t.Run(row.title, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				file := "\ufeff" + strings.ReplaceAll(editable, "\n", ends)
				row.e.At = place(t, file, row.rule)
				after, err := row.e.Apply([]byte(file))
				must(t, err)
				if got, want := lineDiff(file, string(after)), strings.Join(row.want, "\n"); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				if _, err := config.Parse("f", after); err != nil && !strings.Contains(row.title, "invisible") {
					t.Errorf("the result: %v", err)
				}
			}
		})
	}
}

// place is the line:column of a rule; "" for none.
func place(t *testing.T, file, rule string) string {
	t.Helper()
	if rule == "" {
		return ""
	}
	c, err := config.Parse("f", []byte(file))
	must(t, err)
	for _, name := range c.All() {
		for _, r := range c.Profile(name).Rules() {
			line := strings.Split(strings.TrimPrefix(file, "\ufeff"), "\n")[r.Pos.Line-1]
			if strings.HasPrefix(line[r.Pos.Column-1:], rule) {
				_, at, _ := strings.Cut(r.Pos.String(), ":")
				return at
			}
		}
	}
	t.Fatalf("no rule %s", rule)
	return ""
}

// lineDiff lists the lines that differ, by the longest common sequence.
func lineDiff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out, i = append(out, "- "+strings.TrimSuffix(a[i], "\r")), i+1
		default:
			out, j = append(out, "+ "+strings.TrimSuffix(b[j], "\r")), j+1
		}
	}
	return strings.Join(out, "\n")
}

func TestAnEditThatCannotBeDoneSaysWhy(t *testing.T) {
	for _, row := range []struct {
		title, file string
		e           Edit
		want        string
	}{
		{"no such place", editable, Edit{At: "3:4", Remove: true}, "there is no rule at 3:4"},
		{"no such list", editable, Edit{Profile: "work", List: "greylist", Rule: `"x__y"`}, `no list "greylist"`},
		{"no list", editable, Edit{Profile: "work", Rule: `"x__y"`}, "names no list"},
		{"no such profile", editable, Edit{Profile: "other", List: "denylist", Rule: `"x__y"`}, `no profile and no overlay "other"`},
		{"no rule", editable, Edit{Profile: "work", List: "denylist"}, "has no rule"},
		{"no JSON", editable, Edit{Profile: "work", List: "denylist", Rule: `{"tool" "x"}`}, "the rule, line 1, column"},
		{"two values", editable, Edit{Profile: "work", List: "denylist", Rule: `"a__b", "c__d"`}, "the rule, line 1, column"},
		{"a way out of the list", editable, Edit{Profile: "work", List: "denylist", Rule: `"a__b"], "allowlist": ["*"`},
			"the rule, line 1, column"},
		{"a number", editable, Edit{Profile: "work", List: "denylist", Rule: `7`}, "a rule is a text"},
		{"a broken file", `{"evaluation": `, Edit{Profile: "work", List: "denylist", Rule: `"x__y"`}, "has a problem already"},
	} {
		if after, err := row.e.Apply([]byte(row.file)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %q, %v", row.title, after, err)
		}
	}
}

// What a form shows of a rule and sends back unchanged leaves the file as it is.
func TestARuleThatComesBackUnchangedChangesNothing(t *testing.T) {
	at := place(t, editable, `{ "tool": "pay__create"`)
	rule, list, owner, err := RuleAt([]byte(editable), at)
	must(t, err)
	if list != "asklist" || owner != "work" || !strings.HasSuffix(rule, "\n  \"when\": { \"/amount\": { \"gte\": 100 } } }") {
		t.Errorf("%s of %s: %s", list, owner, rule)
	}
	for _, ends := range []string{"\n", "\r\n"} {
		file := strings.ReplaceAll(editable, "\n", ends)
		after, err := Edit{At: at, Rule: strings.ReplaceAll(rule, "\n", "\r\n"), List: list}.Apply([]byte(file))
		must(t, err)
		if string(after) != file {
			t.Errorf("it became\n%s", lineDiff(file, string(after)))
		}
	}
	if _, _, _, err := RuleAt([]byte(editable), "1:1"); err == nil {
		t.Error("there is no rule at 1:1")
	}
}

// Whatever list a rule is added to or removed from, and however the list is laid out, the other rules stay.
func FuzzEdit(f *testing.F) {
	for _, list := range []string{`[]`, `["a__b"]`, `["a__b",]`, "[\n\"a__b\", // c\n\"c__d\" /* e */ , \n]", "[ // only\n]", "[\n\"a__b\"\n]", "[\n\"a__b\",\n\"c__d\"]",
		"[\"a__b\" // x\n, {\"tool\": \"c__d\"}]", "[/*\n*/\"a__b\"/**/,//\n\"c__d\"//\n]"} {
		f.Add(list, 0)
		f.Add(list, 1)
	}
	f.Fuzz(func(t *testing.T, list string, i int) {
		file := `{"evaluation": {"profiles": {"p": {"asklist": ` + list + `, "unmatched": "deny"}}}}`
		c, err := config.Parse("f", []byte(file))
		if err != nil || c.Profile("p") == nil {
			return
		}
		rules := c.Profile("p").Rules()
		after, err := Edit{Profile: "p", List: "asklist", Rule: `"new__rule"`}.Apply([]byte(file))
		if err != nil {
			t.Fatalf("adding to %s: %v", list, err)
		}
		if now, err := config.Parse("f", after); err != nil || len(now.Profile("p").Rules()) != len(rules)+1 {
			t.Fatalf("adding to %s gives %s: %v", list, after, err)
		}
		if len(rules) == 0 {
			return
		}
		_, at, _ := strings.Cut(rules[uint(i)%uint(len(rules))].Pos.String(), ":")
		if after, err = (Edit{At: at, Remove: true}).Apply([]byte(file)); err != nil {
			t.Fatalf("removing from %s: %v", list, err)
		}
		if now, err := config.Parse("f", after); err != nil || len(now.Profile("p").Rules()) != len(rules)-1 {
			t.Fatalf("removing from %s gives %s: %v", list, after, err)
		}
	})
}
