package tenants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

func TestTenantsAreRead(t *testing.T) {
	f, err := parse("/etc/codemode/tenants.json", []byte("\ufeff"+`{
		// two customers
		"tenants": {
			"bolt": {"config": "bolt/codemode.json", "state": "/var/lib/bolt"},
			"acme": {"config": "/srv/acme.json"},
		},
		"http": {"tls": {"certificate": "/c.pem", "key": "/k.pem"}, "socketMode": "0660"},
		"diagnostics": "9464",
		"capacity": {"guestMemory": "1GiB"},
	}`))
	checktest.OK(t, err)
	want := []Tenant{{"acme", "/srv/acme.json", ""}, {"bolt", "/etc/codemode/bolt/codemode.json", "/var/lib/bolt"}}
	if len(f.Tenants) != 2 || f.Tenants[0] != want[0] || f.Tenants[1] != want[1] {
		t.Errorf("got %v, want %v", f.Tenants, want)
	}
	h, err := f.Process.HTTP(nil)
	if err != nil || h.TLS == nil || h.TLS.Key != "/k.pem" || h.SocketMode != 0o660 {
		t.Errorf("http: %+v %v", h, err)
	}
	d, err := f.Process.Diagnostics(nil)
	if err != nil || d.Address != "127.0.0.1:9464" || f.Process.Capacity.GuestMemory != 1<<30 {
		t.Errorf("diagnostics: %+v %v; memory %d", d, err, f.Process.Capacity.GuestMemory)
	}
}

func TestWhatIsWrongWithTenants(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`{`, "1:1"},
		{`[]`, "must be an object"},
		{`{}`, `no "tenants"`},
		{`{"tenants": {}}`, "must not be empty"},
		{`{"tenants": ["acme"]}`, "must be an object"},
		{`{"tenants": {"Acme": {"config": "a"}}}`, `"Acme" is not the name of a tenant`},
		{`{"tenants": {"a.b": {"config": "a"}}}`, "not the name"},
		{`{"tenants": {"../x": {"config": "a"}}}`, "not the name"},
		{`{"tenants": {"": {"config": "a"}}}`, "not the name"},
		{`{"tenants": {"1a": {"config": "a"}}}`, "not the name"},
		{`{"tenants": {"` + strings.Repeat("a", 41) + `": {"config": "a"}}}`, "not the name"},
		{`{"tenants": {"a": {"config": "a"}, "a": {"config": "b"}}}`, "twice"},
		{`{"tenants": {"a": {}}}`, `has no "config"`},
		{`{"tenants": {"a": {"config": ""}}}`, "must not be empty"},
		{`{"tenants": {"a": {"config": 7}}}`, "must be a string"},
		{`{"tenants": {"a": {"config": "a", "store": "x"}}}`, `"store"`},
		{`{"tenants": {"a": {"config": "a"}}, "store": "a.db"}`, `"store"`},
		{`{"tenants": {"a": {"config": "a"}}, "$schema": "x"}`, `$schema`},
		{`{"tenants": {"a": {"config": "a"}}, "http": {"tokens": []}}`, `"http" of the process has no key "tokens"`},
		{`{"tenants": {"a": {"config": "a"}}, "capacity": {"sessions": 9}}`, `no key "sessions"`},
		{"{\"tenants\": {\n\"a\": {\"config\": \"a\"}},\n \"http\": {\"tls\": {\"certificate\": \"c\", \"key\": \"/k\"}}}", "tenants.json:3:34: \"certificate\" must be an absolute"},
		{`{"tenants": {"a": {"config": "a"}}, "diagnostics": "x:y"}`, "not an address"},
	} {
		_, err := parse("tenants.json", []byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", row.text, err, row.want)
		}
	}
}

func TestTenantsThatAreNotDistinct(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		checktest.OK(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		for _, file := range []string{"x.json", "y.json"} {
			checktest.OK(t, os.WriteFile(filepath.Join(dir, name, file), []byte("{}"), 0o600))
		}
	}
	checktest.OK(t, os.Symlink("a", filepath.Join(dir, "link")))
	for _, row := range []struct{ first, second, want string }{
		{"a/x.json", "b/x.json", ""},
		{"a/x.json", "a/x.json", "same configuration"},
		{"a/x.json", "link/x.json", "same configuration"},
		{"a/x.json", "a/y.json", "in one folder"},
		{"a/x.json", "link/y.json", "in one folder"},
	} {
		f := &File{Tenants: []Tenant{{Name: "acme", Config: filepath.Join(dir, row.first)},
			{Name: "bolt", Config: filepath.Join(dir, row.second)}}}
		err := f.Distinct()
		if (err == nil) != (row.want == "") || err != nil && (!strings.Contains(err.Error(), row.want) ||
			!strings.Contains(err.Error(), "acme and bolt")) {
			t.Errorf("%s and %s: %v, want %q", row.first, row.second, err, row.want)
		}
	}
}
