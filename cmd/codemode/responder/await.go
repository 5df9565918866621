package responder

import (
	"log/slog"
	"path/filepath"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
)

// ChannelName names the answers from codemode approvals in the record and in "channels" of a profile.
const ChannelName = "terminal"

// SocketFolder is the folder of the sockets on which processes with questions wait for responders.
func SocketFolder(stateDir string) string { return filepath.Join(stateDir, "approvals") }

// Responders lets people answer, in other terminals, the questions of this process.
type Responders struct {
	opener   *opener
	listener *terminal.Listener
}

// Await adds the channel of codemode approvals to set. may says who may answer for whom; opens allows it to open
// a terminal when nobody is there. Without a safe place for the socket there is no such channel.
func Await(set *launch.Settings, may func(person, principal string) bool, opens bool, log *slog.Logger) *Responders {
	state, err := set.StateFolder()
	if err == nil {
		r := &Responders{opener: newOpener(state, set.Command("codemode approvals"), log)}
		queue := approvals.NewQueue(ChannelName)
		queue.May, queue.Where = may, approvals.InTerminal
		queue.Outcome, queue.Expects = r.opener.outcome, r.opener.expects
		if opens {
			queue.Summon = r.opener.summon
		}
		if r.listener, err = terminal.Listen(SocketFolder(state), queue, launch.Principal(), log); err == nil {
			set.Channels = append(set.Channels, queue)
			return r
		}
	}
	log.Warn("codemode approvals cannot answer the questions of this process", "error", err)
	return &Responders{}
}

// Follow lets the configuration of e say how a terminal is opened.
func (r *Responders) Follow(e *codemode.Evaluator) {
	if r.opener != nil {
		r.opener.follow(e)
	}
}

// Close ends the listener.
func (r *Responders) Close() {
	if r.listener != nil {
		r.listener.Close()
	}
}
