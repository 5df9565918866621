package notify

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

const hook = `"hook": {"webhook": "https://hook.example/in", "secret": "${KEY}"`

// inTime runs a story in a bubble, in which an hour takes no time. at is the time since its beginning.
func inTime(t *testing.T, destinations string, story func(d *desk, to *receiver, at func() time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, to, begin := newDesk(t, destinations), &receiver{}, time.Now()
		d.notifier.client.Transport = to
		story(d, to, func() time.Duration { return time.Since(begin) })
		d.end()
	})
}

// wants checks when a destination got its messages, and about how many questions.
func wants(t testing.TB, to *receiver, begin time.Time, want ...string) {
	t.Helper()
	var got []string
	for _, r := range to.got() {
		got = append(got, r.at.Sub(begin).Round(time.Millisecond).String()+" "+string(rune('0'+r.number())))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got messages at %q, want %q", got, want)
	}
}

// A question that is answered in time, or that somebody can see, is told to nobody.
func TestWhenPeopleAreTold(t *testing.T) {
	for _, row := range []struct {
		title, options string
		story          func(d *desk)
		want           []string
	}{
		{"answered within the delay", "", func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(9 * time.Second)
			d.answerAll()
			time.Sleep(time.Hour)
		}, nil},
		{"not answered", "", func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"11s 1"}},
		{"a delay of its own", `, "delay": "5m"`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(10 * time.Minute)
			d.answerAll()
		}, []string{"5m1s 1"}},
		{"no delay", `, "delay": "0s"`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(10 * time.Minute)
			d.answerAll()
		}, []string{"1s 1"}},
		{"the time to answer is over before the delay", `, "delay": "1m"`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{Timeout: 30 * time.Second}, question1("github__merge"))
			time.Sleep(10 * time.Minute)
		}, nil},
		{"somebody is there", "", func(d *desk) {
			seat := d.page.Sit("anna")
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(time.Minute)
			d.answerAll()
			seat.Leave()
			time.Sleep(time.Hour)
		}, nil},
		{"somebody is there and leaves", "", func(d *desk) {
			seat := d.page.Sit("anna")
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(58 * time.Second)
			seat.Leave()
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"1m1s 1"}},
		{"somebody comes during the delay", "", func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(5 * time.Second)
			seat := d.page.Sit("anna")
			time.Sleep(time.Hour - 10*time.Second)
			d.answerAll()
			seat.Leave()
		}, nil},
		{"somebody is there, and the destination wants all", `, "seated": true`, func(d *desk) {
			defer d.page.Sit("anna").Leave()
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"11s 1"}},
		{"somebody is there who may not answer this one", "", func(d *desk) {
			d.page.May = func(by, principal string) bool { return by == "anna" }
			defer d.page.Sit("eve").Leave()
			d.ask(d.t.Context(), approvals.Options{}, question1("github__merge"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"11s 1"}},
		{"questions of one moment", "", func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"), question1("a__c"), question1("a__d"))
			d.ask(d.t.Context(), approvals.Options{}, question1("a__e"))
			time.Sleep(500 * time.Millisecond)
			d.ask(d.t.Context(), approvals.Options{}, question1("a__f"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"11s 5"}},
		{"more than a minute may have", `, "perMinute": 2, "delay": "0s"`, func(d *desk) {
			for range 9 {
				d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
				time.Sleep(5 * time.Second)
			}
			time.Sleep(10 * time.Minute)
			d.answerAll()
		}, []string{"1s 1", "6s 1", "1m1s 7"}},
		{"more than a minute may have, and most are answered", `, "perMinute": 1, "delay": "0s"`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
			time.Sleep(5 * time.Second)
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"), question1("a__c"))
			time.Sleep(5 * time.Second)
			d.answerAll()
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
			time.Sleep(10 * time.Minute)
			d.answerAll()
		}, []string{"1s 1", "1m1s 1"}},
		{"another profile", `, "profiles": ["other"]`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, nil},
		{"its profile", `, "profiles": ["other", "deploy"]`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
			time.Sleep(time.Minute)
			d.answerAll()
		}, []string{"11s 1"}},
		{"too little risk, and enough", `, "risk": "high"`, func(d *desk) {
			high, strange := question1("a__c"), question1("a__d")
			high.Risk, strange.Risk = call.High, "unheard-of"
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"), high, strange)
			time.Sleep(time.Minute)
			seat := d.page.Sit("anna")
			for _, open := range seat.Pending() {
				_, _ = seat.Show(prompt.RenderOptions{}, open.Request.ID)
				r := open.Request
				_ = seat.Answer(r.ID, r.Digest, r.Code, call.Answer{Allowed: false})
			}
			seat.Leave()
		}, []string{"11s 2"}},
		{"the destination is removed", `, "delay": "1m"`, func(d *desk) {
			d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
			time.Sleep(time.Second)
			d.configure(nil)
			time.Sleep(10 * time.Minute)
			d.answerAll()
		}, nil},
		{"the run ends", "", func(d *desk) {
			ctx, cancel := context.WithCancel(d.t.Context())
			d.ask(ctx, approvals.Options{}, question1("a__b"))
			time.Sleep(time.Second)
			cancel()
			time.Sleep(10 * time.Minute)
		}, nil},
	} {
		t.Run(row.title, func(t *testing.T) {
			inTime(t, hook+row.options+"}", func(d *desk, to *receiver, _ func() time.Duration) {
				begin := time.Now()
				row.story(d)
				wants(t, to, begin, row.want...)
			})
		})
	}
}

// A message is sent again while its question waits, with the same id and a signature of its own, and no longer.
func TestADestinationThatFails(t *testing.T) {
	const again = "2s 10s 30s 2m0s"
	failing := func(status int, header ...string) func(w http.ResponseWriter, _ int) {
		return func(w http.ResponseWriter, _ int) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for _, row := range []struct {
		title  string
		answer func(w http.ResponseWriter, n int)
		stay   time.Duration // until the question is answered
		pauses string
		log    string
	}{
		{"always", failing(500), time.Hour, again, "attempts=5"},
		{"twice", func(w http.ResponseWriter, n int) {
			if n < 3 {
				w.WriteHeader(503)
			}
		}, time.Hour, "2s 10s", "level=DEBUG"},
		{"until the question is answered", failing(500), 20 * time.Second, "2s", "it answered 500 Internal Server Error"},
		{"for good", failing(400), time.Hour, "", "attempts=1"},
		{"with a redirect", failing(302, "Location", "https://evil.example/"), time.Hour, "", "redirects are not followed"},
		{"with a redirect that keeps the method", failing(307, "Location", "http://169.254.169.254/"), time.Hour, "", "attempts=1"},
		{"and wants a pause", failing(429, "Retry-After", "60"), time.Hour, "1m0s 1m0s 1m0s 2m0s", "attempts=5"},
		{"and wants a pause until a date", failing(503, "Retry-After", "Sat, 01 Jan 2000 00:01:11 GMT"), 75 * time.Second, "1m0s", "it is tried again"},
		{"and wants too long a pause", failing(503, "Retry-After", "999999999999"), 20 * time.Minute, "5m0s 5m0s 5m0s", ""},
		{"and wants nonsense", failing(503, "Retry-After", "-1"), time.Hour, again, ""},
		{"and does not answer", func(http.ResponseWriter, int) { time.Sleep(sendTime + time.Second) }, time.Hour,
			"17s 25s 45s 2m15s", "deadline exceeded"},
	} {
		t.Run(row.title, func(t *testing.T) {
			inTime(t, hook+"}", func(d *desk, to *receiver, _ func() time.Duration) {
				to.answer = row.answer
				d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
				time.Sleep(row.stay)
				synctest.Wait()
				got := to.got()
				d.answerAll()
				var pauses []string
				for i, r := range got {
					if i > 0 {
						pauses = append(pauses, r.at.Sub(got[i-1].at).String())
					}
					at, signature := r.header.Get("webhook-timestamp"), r.header.Get("webhook-signature")
					key, _ := secretBytes()
					switch {
					case r.header.Get("webhook-id") != got[0].header.Get("webhook-id") || r.text() != got[0].text():
						t.Errorf("attempt %d has another message", i)
					case signature != sign(key, r.header.Get("webhook-id"), at, []byte(r.header.Get("X-Body"))):
						t.Errorf("attempt %d has the signature %s", i, signature)
					case i > 0 && at == got[i-1].header.Get("webhook-timestamp"):
						t.Errorf("attempt %d has the time of the one before", i)
					}
				}
				if strings.Join(pauses, " ") != row.pauses {
					t.Errorf("pauses %q, want %q", strings.Join(pauses, " "), row.pauses)
				}
				if !strings.Contains(d.log.String(), row.log) || strings.Contains(d.log.String(), "c4n4ry") {
					t.Errorf("the log is\n%s", d.log)
				}
			})
		})
	}
}

// However a destination behaves, a question takes as long as its answer, and the others take their messages.
func TestADestinationDelaysNothing(t *testing.T) {
	inTime(t, hook+`, "delay": "0s"}, "other": {"slack": "https://slow.example/x", "delay": "0s"}`,
		func(d *desk, to *receiver, at func() time.Duration) {
			var slow atomic.Int32
			d.notifier.client.Transport = both(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "slow.example" {
					slow.Add(1)
					<-r.Context().Done()
					return nil, errors.New("https://slow.example/c4n4ry: too slow")
				}
				return to.RoundTrip(r)
			})
			for range 3 {
				start := at()
				d.ask(d.t.Context(), approvals.Options{}, question1("a__b"))
				time.Sleep(2 * time.Second)
				d.answerAll()
				d.answers.Wait()
				if took := at() - start; took != 2*time.Second {
					t.Errorf("the question took %v", took)
				}
			}
			if n := len(to.got()); n != 3 || slow.Load() == 0 {
				t.Errorf("the other destination got %d messages", n)
			}
		})
}

type both func(r *http.Request) (*http.Response, error)

func (f both) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A question is told of once, also if it is put again: by this process, or by one that takes over its run.
func TestAQuestionIsToldOnce(t *testing.T) {
	inTime(t, hook+"}", func(d *desk, to *receiver, _ func() time.Duration) {
		begin := time.Now()
		var first *prompt.Request
		opened := d.desk.Opened
		d.desk.Opened = func(all []approvals.Opening) { first = all[0].Request; opened(all) }
		ctx, cancel := context.WithCancelCause(d.t.Context())
		d.ask(ctx, approvals.Options{Leaving: func() bool { return true }}, question1("a__b"))
		time.Sleep(time.Minute)
		cancel(approvals.ErrLeaving)
		d.answers.Wait()
		again := *first
		d.ask(d.t.Context(), approvals.Options{}, &again)
		time.Sleep(time.Minute)
		d.answerAll()
		wants(t, to, begin, "11s 1")
	})
}

// A process that hands a question over tells of it before it ends: the next one does not.
func TestAProcessThatStopsTellsOfWhatStaysOpen(t *testing.T) {
	for _, stays := range []bool{true, false} {
		inTime(t, hook+"}", func(d *desk, to *receiver, _ func() time.Duration) {
			begin := time.Now()
			ctx, cancel := context.WithCancelCause(d.t.Context())
			d.ask(ctx, approvals.Options{Leaving: func() bool { return stays && ctx.Err() != nil }}, question1("a__b"))
			time.Sleep(3 * time.Second)
			cancel(approvals.ErrLeaving)
			d.end()
			if stays {
				wants(t, to, begin, "3s 1")
			} else {
				wants(t, to, begin)
			}
			d.ask(d.t.Context(), approvals.Options{Timeout: time.Minute}, question1("a__b")) // after its end it does nothing
			d.answers.Wait()
		})
	}
}

// Thousands of questions make few messages, within the limit, that count all of them.
func TestAFloodOfQuestions(t *testing.T) {
	inTime(t, hook+`, "perMinute": 3, "delay": "1s"}`, func(d *desk, to *receiver, _ func() time.Duration) {
		const questions = 3000
		ctx, cancel := context.WithCancel(d.t.Context())
		for range questions / 10 {
			var round []*prompt.Request
			for range 10 {
				round = append(round, question1("a__b"))
			}
			d.ask(ctx, approvals.Options{}, round...)
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		told := 0
		all := to.got()
		for i, r := range all {
			told += r.number()
			if listed := len(r.body["data"].(map[string]any)["questions"].([]any)); listed > mostShown {
				t.Errorf("message %d lists %d questions", i, listed)
			}
			if i >= 3 && r.at.Sub(all[i-3].at) < time.Minute {
				t.Errorf("messages %d to %d are within %v", i-3, i, r.at.Sub(all[i-3].at))
			}
		}
		if told != questions || len(all) > 20 {
			t.Errorf("%d messages tell of %d questions", len(all), told)
		}
		cancel()
	})
}
