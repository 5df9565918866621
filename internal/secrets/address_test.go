package secrets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

func TestOrigin(t *testing.T) {
	for _, row := range [][2]string{
		{"https://hooks.example/services/canary", "https://hooks.example/…"},
		{"https://canary@hooks.example", "https://hooks.example/…"},
		{"https://u:canary@hooks.example:8443/?canary=1#canary", "https://hooks.example:8443/…"},
		{"http://127.0.0.1:4318", "http://127.0.0.1:4318"}, {"http://127.0.0.1:4318/", "http://127.0.0.1:4318"},
		{"postgres://u:canary@db.example/name?sslpassword=canary", "postgres://db.example/…"},
		{"http://[::1]:80/canary", "http://[::1]:80/…"},
		{"canary", unreadable}, {"https://u:can/ary@h/", unreadable}, {"http://h\x00canary/", unreadable}, {"", unreadable},
	} {
		if got := Origin(row[0]); got != row[1] {
			t.Errorf("%s: got %s, want %s", row[0], got, row[1])
		}
	}
}

func TestHide(t *testing.T) {
	parse := func(s string) error { _, err := url.Parse(s); return err }
	if parse("http://u:%zzcanary@h/") == nil || HideAddress(nil) != nil {
		t.Fatal("the test tests little")
	}
	for _, err := range []error{
		&url.Error{Op: "Post", URL: "https://h.example/canary?canary", Err: errors.New("refused")},
		fmt.Errorf("sending: %w", &url.Error{Op: "Post", URL: "https://u:***@h.example/canary",
			Err: errors.New(`Get "https://h.example/canary": EOF`)}),
		&url.Error{Op: "Post", URL: "https://h.example/canary", Err: &url.Error{Op: "parse", URL: "canary",
			Err: errors.New("bad")}},
		parse("http://u:%zzcanary@h/"), parse("https://h:canary/"), parse("http://[::1canary/"),
		parse("https://h.example/%zzcanary"), parse("\x7fcanary"),
		fmt.Errorf("invalid proxy address %q: %v", "u:canary@proxy:3128", errors.New("first path segment")),
		fmt.Errorf("proxyconnect tcp: dial http://u:canary@proxy:3128: refused"),
		errors.New("failed (postgres://u:canary@h/canary): x"),
	} {
		if got := HideAddress(err).Error(); strings.Contains(got, "canary") {
			t.Errorf("%s", got)
		}
		for at := HideAddress(err); at != nil; at = errors.Unwrap(at) {
			if strings.Contains(fmt.Sprintf("%v %+v %#v", at, at, at.Error()), "canary") {
				t.Errorf("below %v: %+v", HideAddress(err), at)
			}
		}
	}
	plain := errors.New("it took 3s: connection refused")
	if HideAddress(plain) != plain {
		t.Error("an error without an address is another one")
	}
	_, err := (&http.Client{}).Do(checktest.Must(http.NewRequestWithContext(canceled(), http.MethodGet, "http://127.0.0.1:1/canary",
		nil)))
	if hidden := HideAddress(err); !errors.Is(hidden, context.Canceled) || strings.Contains(hidden.Error(), "canary") {
		t.Errorf("got %v", hidden)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
