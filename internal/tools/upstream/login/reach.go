package login

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
)

// renewTime limits the exchange of a refresh token for a new access token.
const renewTime = 30 * time.Second

// A network is where an address lies, as seen from this machine. A server names its own authorization server, which
// must not lie further inside than the server itself: otherwise a stranger could have us talk to our own services.
type network int

const (
	internet network = iota
	private          // also addresses that a provider gives to its customers
	loopback
	nowhere // link-local, multicast, unspecified: no authorization server is there
)

var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

func networkOf(ip netip.Addr) network {
	switch ip = ip.Unmap(); {
	case ip.IsLoopback():
		return loopback
	case !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast():
		return nowhere
	case ip.IsPrivate() || carrierGrade.Contains(ip):
		return private
	}
	return internet
}

// networkOfServer is where a server lies. If its name has several addresses, it is the outermost of them.
func networkOfServer(ctx context.Context, server string) network {
	u, err := url.Parse(server)
	if err != nil {
		return internet
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(ips) == 0 {
		return internet
	}
	at := loopback
	for _, ip := range ips {
		of := networkOf(ip)
		if of == nowhere {
			return internet
		}
		at = min(at, of)
	}
	return at
}

// authTransport is the transport to the authorization server that a server names. It checks the address of each
// connection, after the name is resolved. A proxy resolves names itself, and decides.
func authTransport(ctx context.Context, server string) http.RoundTripper {
	return transportUpTo(networkOfServer(ctx, server))
}

// documentTransport is the transport to the client metadata document of our own configuration. The names of a company
// may have private addresses for us and public ones for the authorization server, so those are not too close.
func documentTransport(ctx context.Context, server string) http.RoundTripper {
	return transportUpTo(max(private, networkOfServer(ctx, server)))
}

// transportUpTo reaches a network and those further outside.
func transportUpTo(most network) http.RoundTripper {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy, direct.DisableKeepAlives = nil, true
	direct.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: func(_, at string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(at)
		if err != nil {
			return err
		}
		if networkOf(to.Addr()) > most {
			return fmt.Errorf("its address %s is in a network closer to us than that of the server", to.Addr())
		}
		return nil
	}}).DialContext
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if proxy, err := http.ProxyFromEnvironment(r); proxy != nil || err != nil {
			return http.DefaultTransport.RoundTrip(r)
		}
		return direct.RoundTrip(r)
	})
}

// authClient talks to authorization servers. A POST follows no redirect; a GET
// follows those that stay encrypted.
func authClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout: renewTime, Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.Method != http.MethodGet || via[0].Method != http.MethodGet ||
				r.URL.Scheme != "https" && secrets.SchemeHostPort(r.URL) != secrets.SchemeHostPort(via[0].URL) || len(via) >= 5 {
				return fmt.Errorf("it redirects to %s", secrets.SchemeHostPort(r.URL))
			}
			return nil
		},
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
