package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
)

// mail sends a message through a mail server. The connection has TLS, from its beginning (smtps) or by STARTTLS, unless
// the server is on this machine. The Message-ID is the same in each attempt.
func (n *Notifier) mail(ctx context.Context, t *process.Target, m *message) error {
	letter, err := letterOf(t, m)
	if err != nil {
		return &failure{text: err.Error(), final: true}
	}
	u, err := url.Parse(t.Address)
	if err != nil {
		return err
	}
	var opened net.Conn
	defer func() {
		if opened != nil {
			opened.Close() // also if the greeting or STARTTLS failed
		}
	}()
	client, err := n.mailClient(u, t, &opened)
	if err != nil {
		return &failure{text: err.Error(), final: true}
	}
	connection, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return judged(err)
	}
	defer client.CloseWithSMTPClient(connection) // the server has the mail, or has said why not
	return judged(client.SendWithSMTPClient(connection, letter))
}

// mailClient makes a client of the mail server at an address. It stores the connection in opened, unless the client
// closes it itself.
func (n *Notifier) mailClient(u *url.URL, t *process.Target, opened *net.Conn) (*mail.Client, error) {
	host := u.Hostname()
	secured := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: n.roots}
	options := []mail.Option{mail.WithTLSConfig(secured), mail.WithTimeout(sendTime), mail.WithoutNoop(),
		mail.WithoutRset()} // a mail that the server took is not sent again because of what comes after it
	port := "587"
	switch {
	case u.Scheme == "smtps":
		port = "465"
		options = append(options, mail.WithSSL())
	case settings.OnThisMachine(host):
		port = "25"
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	number, err := strconv.Atoi(cmp.Or(u.Port(), port))
	if err != nil {
		return nil, errors.New("the port of the mail server is no number")
	}
	options = append(options, mail.WithPort(number))
	if u.Scheme != "smtps" {
		dial := n.dial
		if dial == nil {
			dial = (&net.Dialer{}).DialContext
		}
		options = append(options, mail.WithDialContextFunc(func(ctx context.Context, network, to string) (net.Conn, error) {
			var err error
			*opened, err = dial(ctx, network, to)
			return *opened, err
		}))
	}
	if t.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(t.User),
			mail.WithPassword(t.Password))
	}
	return mail.NewClient(host, options...)
}

// judged says whether a mail server wants no other attempt.
func judged(err error) error {
	if err == nil {
		return nil
	}
	code := 0
	if refused, ok := errors.AsType[*mail.SendError](err); ok {
		code = refused.ErrorCode()
	}
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		code = said.Code
	}
	return &failure{text: err.Error(), final: code/100 == 5}
}

// letterOf writes the mail: plain text, which no mail program interprets.
func letterOf(t *process.Target, m *message) (*mail.Msg, error) {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(letter.From(t.From), letter.To(t.To...)); err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(t.From, "@")
	letter.SetMessageIDWithValue(m.id + "@" + domain)
	letter.SetDateWithValue(m.time)
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	letter.Subject(m.title(plainText))
	lines := append(m.lines(plainText), "", m.ending())
	letter.SetBodyString(mail.TypeTextPlain, strings.Join(lines, "\n")+"\n")
	return letter, nil
}
