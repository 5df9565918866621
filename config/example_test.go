package config_test

import (
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/profiles"

	"github.com/codemode-project/codemode/call"
)

const house = `{
  "evaluation": {
    "profiles": {
      "supervised": {
        "denylist": [
          { "id": "no-etc", "tool": "fs__*", "when": { "/path": { "under": "/etc" } }, "reason": "system files" },
        ],
        "asklist": ["fs__write_*"],
      },
    },
  },
}`

func Example() {
	c, err := config.Parse("codemode.json", []byte(house))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := c.Profile("supervised")
	for _, args := range []string{`{"path": "/data/a"}`, `{"path": "/data/../etc/passwd"}`, `{"file": "/etc/passwd"}`} {
		d := p.Decide(profiles.Call{Server: "fs", Tool: "write_file", Args: call.Unread(json.RawMessage(args))})
		fmt.Printf("%s: %s, because of %s:%d: %s\n", args, d.Verdict, d.Reasons[0].Pos.File, d.Reasons[0].Pos.Line,
			d.Reasons[0].Text)
	}
	// Output:
	// {"path": "/data/a"}: ask, because of codemode.json:8: the profile wants a person to decide
	// {"path": "/data/../etc/passwd"}: deny, because of codemode.json:6: system files
	// {"file": "/etc/passwd"}: ask, because of codemode.json:6: system files (the rule cannot be judged: /path is missing)
}

func ExampleParse() {
	_, err := config.Parse("codemode.json", []byte(`{
  "evaluation": {
    "profiles": {
      "safe": { "denylst": ["fs__delete_*"] }
    }
  }
}`))
	fmt.Println(err)
	// Output:
	// codemode.json:4:17: unknown key "denylst" in a profile
	//           "safe": { "denylst": ["fs__delete_*"] }
	//                     ^^^^^^^^^
	//     did you mean "denylist"?
}

func ExampleProfile_Explain() {
	c, err := config.Parse("codemode.json", []byte(house))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := c.Profile("supervised").Explain(profiles.Call{Server: "fs", Tool: "read_file",
		Args: call.Unread(json.RawMessage(`{"path": "/data/a"}`))})
	fmt.Println(x.Decision.Verdict)
	for _, r := range x.Considered {
		fmt.Printf("%-8s %-11s %s: %s\n", r.List, r.Rule, r.Result, r.Text)
	}
	// Output:
	// allow
	// denylist no-etc      false: system files (the rule does not hold: not /path {"under":"/etc"})
	// asklist  fs__write_* other tool: the rule is about other tools
}
