// Command webasks is a web service that runs programs for its users, and asks them on its own page: each user sees the
// calls of their own programs that wait for a yes, whole, and says yes or no.
//
//	go run ./examples/webasks [-listen 127.0.0.1:8822]
//
// It prints the names and passwords of two users. main.go is the service, page.go what browsers get.
package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/config"
)

var (
	//go:embed rules.json
	rules []byte
	//go:embed program.ts
	program string
)

const (
	mostRunning = 4  // runs of one user at once
	mostShown   = 20 // runs on the page of a user
)

// A service has users, and runs their programs.
type service struct {
	codemode *codemode.Evaluator
	users    map[string]*user
	host     string // where browsers find it
	ctx      context.Context
	running  sync.WaitGroup
}

type user struct {
	name, password string
	seat           *approvals.Seat // where they see and answer the questions of their programs, and of no others

	mu    sync.Mutex
	inbox []mail
	sent  []letter
	runs  []*run // the latest first
}

type run struct {
	Code  string
	Began time.Time
	Text  string // how it ended; "" while it runs
}

// newService makes a service for a host such as 127.0.0.1:8822. Its programs run until ctx ends.
func newService(ctx context.Context, host, cache string, users ...*user) (*service, error) {
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return nil, err
	}
	// Everybody has shown a password before they have a seat: that suffices for a strong queue.
	page := approvals.NewStrongQueue("page")
	page.May = func(by, principal string) bool { return by == principal }
	page.Where = "http://" + host + "/"
	s := &service{users: map[string]*user{}, host: host, ctx: ctx}
	for _, u := range users {
		u.seat = page.Sit(u.name)
		s.users[u.name] = u
	}
	s.codemode, err = codemode.New(ctx, codemode.Options{
		Config: cfg, CacheDir: cache, Channels: []approvals.Channel{page},
		Servers: []codemode.Server{{
			Name:      "mail",
			Untrusted: true, // mails are anybody's words
			Functions: []codemode.Function{
				codemode.Func("inbox", "The mails that the user has.", inbox, codemode.ReadOnly),
				codemode.Func("send", "Sends a mail for the user.", send, codemode.Additive),
				codemode.Func("delete", "Deletes mails of the user.", remove, codemode.Destructive),
			},
		}},
	})
	return s, err
}

// start runs a program of a user. It reports false if they have too many.
func (s *service) start(u *user, code string) bool {
	r := &run{Code: code, Began: time.Now()}
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, other := range u.runs {
		if other.Text == "" {
			n++
		}
	}
	if n == mostRunning {
		return false
	}
	u.runs = slices.Insert(u.runs, 0, r)
	if len(u.runs) > mostShown {
		u.runs = u.runs[:mostShown]
	}
	s.running.Go(func() {
		// The functions find the user in their context. The queue finds them by the principal.
		ctx := context.WithValue(s.ctx, userKey{}, u)
		response, err := s.codemode.Eval(ctx, codemode.Request{Profile: "member", Code: code, Principal: u.name})
		u.mu.Lock()
		defer u.mu.Unlock()
		r.Text = response.Text(err)
	})
	return true
}

// close ends running programs.
func (s *service) close() error {
	err := s.codemode.Close(context.WithoutCancel(s.ctx))
	s.running.Wait()
	return err
}

type (
	userKey struct{}
	none    struct{}

	mail struct {
		ID   int    `json:"id"`
		From string `json:"from"`
		Text string `json:"text"`
	}
	mails struct {
		Mails []mail `json:"mails"`
	}
	letter struct {
		To   string `json:"to" jsonschema:"an address"`
		Text string `json:"text"`
	}
	ids struct {
		IDs []int `json:"ids"`
	}
)

// from finds the user of a run.
func from(ctx context.Context) (*user, error) {
	if u, ok := ctx.Value(userKey{}).(*user); ok {
		return u, nil
	}
	return nil, errors.New("it is not known for whom this program runs")
}

func inbox(ctx context.Context, _ none) (mails, error) {
	u, err := from(ctx)
	if err != nil {
		return mails{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return mails{slices.Clone(u.inbox)}, nil
}

func send(ctx context.Context, l letter) (none, error) {
	u, err := from(ctx)
	if err != nil {
		return none{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent = append(u.sent, l)
	return none{}, nil
}

func remove(ctx context.Context, in ids) (none, error) {
	u, err := from(ctx)
	if err != nil {
		return none{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inbox = slices.DeleteFunc(u.inbox, func(m mail) bool { return slices.Contains(in.IDs, m.ID) })
	return none{}, nil
}

// serve serves until ctx ends.
func serve(ctx context.Context, listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s: passwords travel in the clear, so only this machine may connect", listen),
			l.Close())
	}
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "codemode-example")
	}
	s, err := newService(ctx, l.Addr().String(), cache,
		&user{name: "anna", password: rand.Text(), inbox: []mail{
			{1, "ben@example.org", "urgent: the kettle is <b>broken</b>"}, {2, "shop@example.org", "everything must go"}}},
		&user{name: "ben", password: rand.Text()})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	for _, u := range s.users {
		fmt.Printf("http://%s/ user %s, password %s\n", s.host, u.name, u.password)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.close())
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8822", "the address of the service, on this machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *listen); err != nil {
		log.Fatal(err)
	}
}
