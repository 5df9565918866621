package catalog_test

import (
	"testing"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

func TestAToolIsFoundByTheNameItsServerSpells(t *testing.T) {
	c := catalog.New()
	c.Replace("my-server", []catalog.Tool{{Raw: "get-env"}, {Raw: "a.b"}, {Raw: "x-y"}, {Raw: "x_y"},
		{Raw: "获取天气"}, {Raw: "cafe\u0301"}, {Raw: "then"}})
	for _, row := range []struct{ name, want string }{
		{"my_server__get_env", "my_server__get_env"},
		{"my-server__get-env", "my_server__get_env"},
		{"my-server__a.b", "my_server__a_b"},
		{"my_server__get-env", "my_server__get_env"},
		{"my-server__get_env", "my_server__get_env"},
		{"my_server__x_y", "my_server__x_y"},
		{"my_server__x-y", "my_server__x_y_c7a1d976"},
		{"my-server__x_y", "my_server__x_y"},
		{"my_server__获取天气", "my_server__获取天气"},
		{"my-server__获取天气", "my_server__获取天气"},
		{"my_server__caf\u00e9", "my_server__caf\u00e9"},
		{"my_server__cafe\u0301", "my_server__caf\u00e9"},
		{"my_server__then", "my_server__then"},
		{"my_server__x.y", ""},
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
