package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// perPrincipal is a server that each principal reaches with a login of its own. Its tool whoami answers with the user
// whose token came with the call.
func perPrincipal(t *testing.T, o hostedtest.Options, more func(user string, s *mcp.Server)) (*hostedtest.Server,
	upstream.Server) {
	t.Helper()
	var h *hostedtest.Server
	o.Serve = func(r *http.Request) *mcp.Server {
		user := h.User(r)
		s := mcp.NewServer(&mcp.Implementation{Name: "hosted", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whoami", Description: "You are " + user}, func(_ context.Context,
			r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			now := h.User(&http.Request{Header: r.Extra.Header}) // the token of this call, not of the session
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: now}}}, nil, nil
		})
		if more != nil {
			more(user, s)
		}
		return s
	}
	h = mcptest.Host(t, o)
	s := httpServer("hosted", h.URL)
	s.OAuth = &servers.OAuth{Per: servers.Principal}
	return h, s
}

// A replica is a manager over the database of a tenant.
type replica struct {
	*upstream.Manager
	t       *testing.T
	expired atomic.Int32
}

// replicaOf starts a replica, whose operator has logged in so that tools are listed.
func replicaOf(t *testing.T, db store.Options, log *testwait.Buffer, s upstream.Server) *replica {
	t.Helper()
	d, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	r := &replica{t: t}
	r.Manager = manage(t, upstream.Options{Logins: t.TempDir(), Principals: login.Options{
		DB:      func(context.Context) (*store.DB, error) { return d, nil },
		Expired: func(context.Context, string, string) { r.expired.Add(1) },
	}, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, s)
	r.logIn("", "operator")
	eventually(t, "its tools are listed", func() bool { return status(t, r.Manager, "hosted").State == upstream.Ready })
	return r
}

// logIn logs a principal in as a user of the server.
func (r *replica) logIn(principal, user string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := r.Login(ctx, "hosted", principal, login.Browser{Open: func(address string) {
		browser(r.t)(address + "&user=" + user)
	}}); err != nil {
		r.t.Fatalf("the login of %q: %v", principal, err)
	}
}

// who calls whoami for a principal.
func (r *replica) who(principal string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	res, err := r.Call(ctx, "hosted", "whoami", nil, upstream.CallOptions{Principal: principal})
	if err != nil {
		return "", err
	}
	return strings.Trim(string(res.Value), `"`), nil
}

func (r *replica) is(principal, want string) {
	r.t.Helper()
	if got, err := r.who(principal); err != nil || !strings.Contains(got, want) {
		r.t.Errorf("%s is %q there (%v), want %q", principal, got, err, want)
	}
}

// needsLogin checks that a call of a principal says that it has to log in, and that nothing happened.
func (r *replica) needsLogin(when, principal, says string) {
	r.t.Helper()
	got, err := r.who(principal)
	var failed *upstream.Error
	_, needed := errors.AsType[*login.Error](err)
	if !errors.As(err, &failed) || failed.Unknown || !needed || !strings.Contains(err.Error(), says) {
		r.t.Errorf("%s: got %q, %v; want a login.Error with %q", when, got, err, says)
	}
}

// databases are those of two tenants, of both kinds.
func databases(t *testing.T, test func(t *testing.T, tenants [2]store.Options)) {
	keys := [2][]byte{bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)}
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		test(t, [2]store.Options{{Path: filepath.Join(dir, "acme"), SealKey: keys[0]},
			{Path: filepath.Join(dir, "bolt"), SealKey: keys[1]}})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server := pgtest.Start(t)
		test(t, [2]store.Options{{URL: server.URL("acme"), SealKey: keys[0]}, {URL: server.URL("bolt"), SealKey: keys[1]}})
	})
}

// TestEachPrincipalHasItsOwnLogin: two tenants, two principals of the same names, two replicas.
func TestEachPrincipalHasItsOwnLogin(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, tenants [2]store.Options) {
		h, s := perPrincipal(t, hostedtest.Options{Sessions: true}, nil)
		var log testwait.Buffer
		acme := [2]*replica{replicaOf(t, tenants[0], &log, s), replicaOf(t, tenants[0], &log, s)}
		bolt := replicaOf(t, tenants[1], &log, s)
		acme[0].needsLogin("without a login", "anna",
			"anna has no login there: the operator runs codemode login hosted --principal anna")
		if _, err := acme[0].who(""); err == nil || !strings.Contains(err.Error(), "nobody has verified who calls") {
			t.Errorf("without a principal: %v", err)
		}
		acme[0].logIn("anna", "anna-of-acme")
		acme[1].logIn("ben", "ben-of-acme")
		bolt.logIn("anna", "anna-of-bolt")
		bolt.needsLogin("a login at another tenant", "ben", "no login")
		for _, r := range acme {
			r.is("anna", "anna-of-acme")
			r.is("ben", "ben-of-acme")
		}
		bolt.is("anna", "anna-of-bolt")

		// Attack: the token of one principal at the server for another, under load.
		var calls sync.WaitGroup
		for i := range 200 {
			calls.Go(func() {
				principal := []string{"anna", "ben"}[i%2]
				acme[i/2%2].is(principal, principal+"-of-acme")
			})
		}
		calls.Wait()
		acme[0].SetPage("https://codemode.example.com/console/accounts")
		acme[0].needsLogin("with a page", "eve",
			"eve has no login there: connect the account at https://codemode.example.com/console/accounts")

		// The session of the server belongs to the account of the earlier login.
		acme[1].logIn("anna", "anna-the-second")
		for _, r := range acme {
			r.is("anna", "anna-the-second")
		}
		if found, err := acme[1].LogoutOf(t.Context(), "hosted", "anna"); err != nil || !found {
			t.Errorf("the logout: %t, %v", found, err)
		}
		for _, r := range acme {
			r.needsLogin("after the logout in one replica", "anna", "no login")
			r.is("ben", "ben-of-acme")
		}
		for _, secret := range h.Secrets() {
			if strings.Contains(log.String(), secret) {
				t.Error("a token is in the log")
			}
		}
	})
}

// TestReplicasRenewALoginOnce: attack on a rotating refresh token, which the server takes once.
func TestReplicasRenewALoginOnce(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, tenants [2]store.Options) {
		h, s := perPrincipal(t, hostedtest.Options{}, nil)
		var log testwait.Buffer
		both := [2]*replica{replicaOf(t, tenants[0], &log, s), replicaOf(t, tenants[0], &log, s)}
		both[0].logIn("anna", "anna")
		both[0].is("anna", "anna")
		both[1].is("anna", "anna")
		for range 3 {
			before, refused := h.Renewed(), h.Refused()
			h.Revoke(false) // every request gets 401 now
			var calls sync.WaitGroup
			for i := range 20 {
				calls.Go(func() { both[i%2].is("anna", "anna") })
			}
			calls.Wait()
			if n := h.Renewed() - before; n != 1 || h.Refused() != refused {
				t.Errorf("the login of anna was renewed %d times, and refused %d times, want once", n, h.Refused()-refused)
			}
		}
		h.Revoke(true)
		both[0].needsLogin("a refresh token that was revoked", "anna", "its login has expired")
		both[1].needsLogin("in the other replica", "anna", "no login")
		if n := both[0].expired.Load() + both[1].expired.Load(); n != 1 {
			t.Errorf("it was reported %d times, want once", n)
		}
		if all, err := both[1].Logins(t.Context(), "anna"); err != nil || len(all) != 0 {
			t.Errorf("it is still stored: %v, %v", all, err)
		}
	})
}

// TestALoginIsForItsAddress: attack by a configuration that names another server under the same name.
func TestALoginIsForItsAddress(t *testing.T) {
	t.Parallel()
	_, s := perPrincipal(t, hostedtest.Options{}, nil)
	other, s2 := perPrincipal(t, hostedtest.Options{}, nil)
	var log testwait.Buffer
	r := replicaOf(t, store.Options{Path: filepath.Join(t.TempDir(), "db"), SealKey: make([]byte, 32)}, &log, s)
	r.logIn("anna", "anna")
	r.is("anna", "anna")
	r.Set([]upstream.Server{s2})
	r.needsLogin("at another address", "anna", "for an earlier address")
	if other.Users() != 0 {
		t.Error("somebody has called there")
	}
}

// TestAToolOfOnePrincipal: the catalogue has what the operator's login lists. A principal that is offered something else
// does not call it.
func TestAToolOfOnePrincipal(t *testing.T) {
	t.Parallel()
	_, s := perPrincipal(t, hostedtest.Options{}, func(user string, s *mcp.Server) {
		type narrow struct {
			Account string `json:"account"`
		}
		run := func(context.Context, *mcp.CallToolRequest, narrow) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		}
		if user != "guest" {
			mcp.AddTool(s, &mcp.Tool{Name: "delete"}, run)
		}
		tool := &mcp.Tool{Name: "pay", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: user == "operator"}}
		mcp.AddTool(s, tool, run)
	})
	var log testwait.Buffer
	r := replicaOf(t, store.Options{Path: filepath.Join(t.TempDir(), "db"), SealKey: make([]byte, 32)}, &log, s)
	r.logIn("gus", "guest")
	for tool, want := range map[string]string{"delete": "does not offer this tool to the account",
		"pay": "defines this tool for the account of this principal in another way", "whoami": ""} {
		_, err := r.Call(t.Context(), "hosted", tool, []byte(`{"account": "x"}`), upstream.CallOptions{Principal: "gus"})
		if want == "" && err == nil {
			continue
		}
		if want == "" && strings.Contains(fmt.Sprint(err), "account") { // whoami takes no arguments
			continue
		}
		if failed, ok := errors.AsType[*upstream.Error](err); !ok || failed.Unknown || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tool, err, want)
		}
	}
}
