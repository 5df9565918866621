package catalog_test

import (
	"testing"

	"github.com/codemode-project/codemode/catalog"
)

func TestAToolIsFoundByTheNameItsServerSpells(t *testing.T) {
	c := catalog.New()
	c.Replace("my-server", []catalog.Tool{{Raw: "get-env"}, {Raw: "a.b"}})
	for _, row := range []struct{ name, want string }{
		{"my_server__get_env", "my_server__get_env"},
		{"my-server__get-env", "my_server__get_env"},
		{"my-server__a.b", "my_server__a_b"},
		{"my_server__get-env", ""},
		{"my-server__get_env", ""},
		{"my.server__get-env", ""},
		{"my-server__a-b", ""},
	} {
		got := ""
		if tool, err := c.Find(row.name); err == nil {
			got = tool.Name
		}
		if got != row.want {
			t.Errorf("Find(%q) gave %q, want %q", row.name, got, row.want)
		}
	}
}
