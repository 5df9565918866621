package sandbox

import (
	"errors"
	"testing"
)

// Tenants share the memory of an engine. Neither opens what the other has made, and owners of the same name are two.
func TestTenantsShareMemoryAndNothingElse(t *testing.T) {
	e := limited(t, 256<<20)
	acme, bolt := e.Tenant("acme", []byte("the key of acme"), nil), e.Tenant("bolt", []byte("the key of bolt"), nil)
	s, err := acme.NewSession("anna")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), Program{Source: "var kept = 7; return kept"}, nil); err != nil {
		t.Fatal(err)
	}
	image, err := s.Image()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open("anna", image); !errors.Is(err, ErrImage) {
		t.Errorf("another tenant opens a session: %v", err)
	}
	if _, err := e.Open("anna", image); !errors.Is(err, ErrImage) {
		t.Errorf("the engine of nobody opens a session: %v", err)
	}
	if _, err := acme.Open("bert", image); !errors.Is(err, ErrImage) {
		t.Errorf("another owner opens a session: %v", err)
	}
	// Another replica, which has the same key, need not call the tenant the same.
	again, err := e.Tenant("renamed", []byte("the key of acme"), nil).Open("anna", image)
	if err != nil {
		t.Fatal(err)
	}
	r, err := again.Run(t.Context(), Program{Source: "return kept"}, nil)
	if err != nil || string(r.Value) != "7" {
		t.Errorf("the session has %s, %v", r.Value, err)
	}
	for owner, want := range map[string]bool{"acme\x00anna": true, "renamed\x00anna": true, "bolt\x00anna": false,
		"anna": false} {
		if has := e.memory.Held(owner) > 0; has != want {
			t.Errorf("%q has %d bytes", owner, e.memory.Held(owner))
		}
	}
	s.Close()
	again.Close()
	if e.memory.Used() != 0 {
		t.Errorf("%d bytes are left in use", e.memory.Used())
	}
}
