package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/cachetest"
)

// Where the process is confined, a hostile server of one tenant reaches nothing of another one, and has no folder that a
// server of the same name has there.
func TestConfinedServersOfTenants(t *testing.T) {
	needConfinement(t)
	t.Parallel()
	h := newHousehold(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenantNames {
		text := strings.Replace(tenantConfig(tenant, ""), `"mcpServers": {`, `"mcpServers": {
			"plain": {"command": "`+self+`", "env": {"`+asCommand+`": "prober"}},`, 1)
		write(t, h.configOf(tenant), strings.Replace(text, `"allowlist": [`, `"allowlist": ["plain__try", `, 1))
	}
	h.start(t, "--confine")
	try := func(tenant, what string) string {
		x := &thing{tenant: tenant, principal: "anna"}
		_, text := h.tool(x.runner(), tenant, "codemode_eval", map[string]any{"code": `
			try { return await codemode.plain__try({what: "` + what + `"}) } catch (e) { return String(e.message ?? e) }`}, nil)
		return text
	}
	for _, tenant := range tenantNames { // each begins, so that both have a folder
		if got := try(tenant, "temp"); !strings.Contains(got, "done") {
			t.Fatalf("the server of %s does not work: %s\n%s", tenant, got, h.log)
		}
	}
	folders, err := filepath.Glob(filepath.Join(cachetest.Dir(), "codemode-servers", "*.plain-*", "tmp"))
	if err != nil || len(folders) != 2 {
		t.Fatalf("the servers of the same name have the folders %q, %v", folders, err)
	}
	for i, tenant := range tenantNames {
		other := tenantNames[1-i]
		for _, path := range []string{h.configOf(other), filepath.Join(h.stateOf(other), "record.key"),
			filepath.Join(h.stateOf(other), "codemode.db"), filepath.Join(h.home, "tenants.json")} {
			if got := try(tenant, "read "+path); !strings.Contains(got, "permission denied") {
				t.Errorf("%s reads %s: %s", tenant, path, got)
			}
		}
		for _, path := range []string{filepath.Join(folders[1-i], "x"), filepath.Join(h.stateOf(other), "x"),
			filepath.Join(h.home, other, "overlays.json")} {
			if got := try(tenant, "write "+path); !strings.Contains(got, "permission denied") {
				t.Errorf("%s writes %s: %s", tenant, path, got)
			}
		}
		if got := try(tenant, "write "+filepath.Join(folders[i], "x")); !strings.Contains(got, "done") {
			t.Errorf("%s does not write its own folder: %s", tenant, got)
		}
	}
	h.end()
}
